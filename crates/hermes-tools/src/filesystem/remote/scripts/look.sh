# $1 a path
resolve "$1"
if [ -e "$real" ]; then
  field there "$real"
else
  field missing "$real"
fi
