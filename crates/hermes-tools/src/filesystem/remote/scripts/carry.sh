# $1 a path below .hermes of the home, $2 bytes that will come on standard input, $3 something nobody
# else uses in a name
umask 077
[ -n "${HOME-}" ] || refuse failed 'HOME is not set'
file=$HOME/.hermes/$1
directory=${file%/*}
message=$(mkdir -p "$directory" 2>&1) || refuse failed "$message"
[ ! -L "$file" ] || refuse failed 'there is a link in its place'
temporary=$directory/.hermes-$3.tmp
trap 'rm -f "$temporary"' EXIT
trap 'exit 1' HUP INT TERM
# Without clobbering: a link that somebody put there is not followed.
message=$({ set -C && cat >"$temporary"; } 2>&1) || refuse failed "$message"
size=$(wc -c <"$temporary")
[ "$((size))" = "$2" ] || refuse short
# What is mounted there cannot be replaced, and need not be.
if ! { [ -f "$file" ] && cmp -s "$temporary" "$file"; }; then
  message=$(mv -f "$temporary" "$file" 2>&1) || refuse failed "$message"
fi
field carried
