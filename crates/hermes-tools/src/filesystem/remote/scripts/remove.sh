# $1 a path
[ -e "$1" ] || [ -h "$1" ] || refuse missing "$1"
message=$(rm -f "$1" 2>&1) || refuse failed "$message"
field removed
