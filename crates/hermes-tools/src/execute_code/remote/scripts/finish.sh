# $1 the directory of the script
if [ -r "$1/report" ]; then
  exec 3<"$1/report"
else
  exec 3</dev/null
fi
rm -rf "$1"
if [ -e "$1" ]; then
  field left
else
  field removed
fi
cat <&3
