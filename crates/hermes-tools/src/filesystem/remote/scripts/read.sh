# $1 a path, $2 number of the first line, $3 how many lines (0 for none), $4 bytes to tell text from
# data by, $5 bytes of a line, $6 bytes of the page, $7 bytes in which lines are counted, $8 bytes of a
# file that is sent whole
resolve "$1"
if [ ! -e "$real" ]; then
  field missing
  beside=${1%/*}
  [ ! -d "$beside/" ] || printf '%s\0' "$beside"/* "$beside"/.[!.]* | head -c 1000000
  exit 0
fi
regular
[ -r "$real" ] || refuse denied
state=$(stamp "$real")
field file "$real" "$state"
# A small file is cheaper to send than to work on.
if [ "$3" != 0 ] && [ "${state%% *}" -le "$8" ]; then
  field whole
  head -c "$8" "$real"
  exit 0
fi
field page
start=$(head -c "$4" "$real" | od -An -v -tx1)
field "$start"
case $3/$start in
  0/* | *' 00'*) exit 0 ;;
esac
field "$(head -c "$7" "$real" | wc -l)" "$(tail -c 1 "$real" | od -An -tx1)"
# A NUL so far inside is no reason to hide the rest, but to some programs it ends a line.
if [ "$2" -gt 1 ]; then
  tail -n "+$2" "$real"
else
  cat "$real"
fi | head -n "$3" | tr '\000' '\001' | cut -b "1-$5" | head -c "$6"
