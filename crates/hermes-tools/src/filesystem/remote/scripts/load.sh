# $1 a path, $2 bytes that are too many
resolve "$1"
regular
[ -r "$real" ] || refuse denied
field file "$real" "$(stamp "$real")"
head -c "$2" "$real"
