# $1 a path, $2 bytes that will come on standard input, $3 something nobody else uses in a name
resolve "$1"
[ ! -e "$real" ] || regular
directory=${real%/*}
[ -n "$directory" ] || directory=/
made=no
if [ ! -d "$directory" ]; then
  message=$(mkdir -p "$directory" 2>&1) || refuse failed "$message"
  made=yes
fi
temporary=$directory/.hermes-$3.tmp
trap 'rm -f "$temporary"' EXIT
trap 'exit 1' HUP INT TERM
before= owner= mode=
if [ -e "$real" ]; then
  before=$(stamp "$real")
  facts=$(stat -L -c '%u:%g %a' "$real" || stat -L -f '%u:%g %Lp' "$real") || refuse failed 'no stat'
  owner=${facts% *}
  mode=${facts#* }
  umask 077
fi
# Without clobbering: a link that somebody put there is not followed.
message=$({ set -C && cat >"$temporary"; } 2>&1) || refuse failed "$message"
# A connection that broke looks like an end; what came through is no file then.
[ $(($(wc -c <"$temporary"))) = "$2" ] || refuse short
if [ -n "$mode" ]; then
  # Where we are root, others keep their files.
  chown "$owner" "$temporary"
  message=$(chmod "$mode" "$temporary" 2>&1) || refuse failed "$message"
fi
sync -d "$temporary"
message=$(mv -f "$temporary" "$real" 2>&1) || refuse failed "$message"
trap - EXIT
field written "$real" "$made" "$before" "$(stamp "$real")"
