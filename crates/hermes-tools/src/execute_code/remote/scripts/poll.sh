# $1 the directory of the script, $2 how often to look, $3 bytes of a request, $4 bytes of an answer
cd "$1/rpc" || refuse gone
left=$2 longest=$3 room=$4
while :; do
  set -- req_*
  [ ! -e "$1" ] || break
  [ ! -e ../done ] || refuse done
  [ -e ../collect.py ] || refuse gone
  left=$((left - 1))
  [ "$left" -gt 0 ] || refuse nothing
  sleep 0.05 || sleep 1
done
field requests
for request do
  [ "$room" -gt 0 ] || break
  number=${request#req_}
  # Nobody else gets it, whatever becomes of this answer.
  mv "$request" "run_$number" || continue
  size=$(($(wc -c <"run_$number")))
  [ "$size" -le "$longest" ] || size=0
  field "$number" "$size"
  [ "$size" = 0 ] || cat "run_$number"
  rm -f "run_$number"
  room=$((room - size))
done
