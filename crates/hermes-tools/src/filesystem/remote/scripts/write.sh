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
before= mode=
if [ -e "$real" ]; then
  # Its owner and mode, then its state.
  before=$(stat -L -c '%u:%g %a %s %i %y' "$real" || stat -L -f '%u:%g %Lp %z %i %Fm' "$real") ||
    refuse failed 'there is no stat to ask about the file'
  owner=${before%% *}
  before=${before#* }
  mode=${before%% *}
  before=${before#* }
  umask 077
fi
# Without clobbering: a link that somebody put there is not followed.
message=$({ set -C && cat >"$temporary"; } 2>&1) || refuse failed "$message"
if [ -n "$mode" ]; then
  # Where we are root, others keep their files.
  { [ -O "$real" ] && [ -G "$real" ]; } || chown "$owner" "$temporary"
  chmod "$mode" "$temporary" || refuse failed 'the mode could not be kept'
fi
# It stays in this state under its other name. A connection that broke looks like an end; what came
# through is no file then.
after=$(stamp "$temporary")
[ "${after%% *}" = "$2" ] || refuse short
sync -d "$temporary"
message=$(mv -f "$temporary" "$real" 2>&1) || refuse failed "$message"
trap - EXIT
field written "$real" "$made" "$before" "$after"
