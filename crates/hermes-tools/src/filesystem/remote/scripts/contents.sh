# $1 a path, $2 the expression for ripgrep (empty: do not use it), $3 the expression for grep, $4 lines
# around a match, $5 a pattern for the names of files (empty: all), $6 the same as ripgrep reads it,
# $7 bytes of a line, $8 bytes of the answer, $9 matches of a file, ${10} seconds
beginning "$1"

# What is found in time arrives; where nothing ends it, the whole search is given up later.
limited=
timeout 1 true 2>/dev/null && limited="timeout ${10}"

if [ -n "$2" ] && command -v rg >/dev/null; then
  field rg "$real"
  pattern=$2 around=$4 kind=$6 width=$7 most=$8 each=$9
  set -- --regex-size-limit 4M --dfa-size-limit 8M --no-config --no-messages --color never --no-heading --with-filename --line-number --null \
    --sort path --context "$around" --max-count "$each"
  [ -z "$kind" ] || set -- "$@" --type-add "hermes:$kind" --type hermes
  { $limited rg "$@" --regexp "$pattern" -- "$real" && : || printf '\0%s\n' "$?"; } |
    narrow "$width" | head -c "$most"
  exit 0
fi

field grep "$real"
if printf 'x\n' | grep --null -HIq x; then
  files "$5" | in_order | {
    $limited xargs -0 grep --null -HnIE -m "$9" -C "$4" -e "$3" --
    [ $? != 124 ] || printf '\000124\n'
  } | narrow "$7" | head -c "$8"
  exit 0
fi

# A grep that cannot end names with a NUL: names are printed here, and only where something matches.
files "$5" | in_order | xargs -0 -n 50 sh -c '
  expression=$1 around=$2 each=$3 width=$4
  shift 4
  grep -Eq -e "$expression" -- "$@" || exit 0
  for file do
    grep -Eq -e "$expression" -- "$file" || continue
    [ $(head -c 65536 "$file" | tr -d "\000" | wc -c) = $(head -c 65536 "$file" | wc -c) ] || continue
    printf "%s\0=\n" "$file"
    grep -nE -m "$each" -C "$around" -e "$expression" -- "$file" |
      tr -d "\000" | cut -b "1-$width"
  done
' sh "$3" "$4" "$9" "$7" | head -c "$8"
