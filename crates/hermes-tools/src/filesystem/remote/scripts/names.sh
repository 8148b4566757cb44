# $1 a path, $2 "rg" if ripgrep may be used, $3 a pattern for names (empty: all), $4 the same as ripgrep
# reads it, $5 bytes of the answer
beginning "$1"

if [ "$2" = rg ] && command -v rg >/dev/null; then
  field rg "$real"
  kind=$4 most=$5
  set -- --no-config --no-messages --null
  [ -z "$kind" ] || set -- "$@" --type-add "hermes:$kind" --type hermes
  rg "$@" --files -- "$real" | with_time | head -c "$most"
  exit 0
fi

field find "$real"
files "$3" | with_time | head -c "$5"
