# $1 name of a directory, $2 name of a file, $3 bytes that will come on standard input
# Makes a directory that is ours alone, if nobody else has something there.
own() {
  mkdir -m 700 "$1" && return
  [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && chmod 700 "$1"
}
umask 077
case ${TMPDIR-} in
/*) top=${TMPDIR%/}/hermes-results ;;
*) top=/tmp/hermes-results ;;
esac
if ! own "$top"; then
  top=$top-$(id -u)
  own "$top" || refuse failed 'the directory for results is not ours'
fi
own "$top/$1" || refuse failed 'the directory for results is not ours'
file=$top/$1/$2
# Without clobbering: a link that somebody put there is not followed.
message=$({ set -C && cat >"$file"; } 2>&1) || refuse failed "$message"
size=$(wc -c <"$file")
if [ "$((size))" != "$3" ]; then
  rm -f "$file"
  refuse short
fi
field kept "$file"
