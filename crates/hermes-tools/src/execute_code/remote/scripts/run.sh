# $1 the directory of the script, $2 where it runs, $3 "project" or "strict", $4 to $7 bytes to keep of
# what it prints, then interpreters to try first
stage=$1 directory=$2 mode=$3 rooms="$4 $5 $6 $7"
shift 7

# Ends, and tells those who look for requests.
end() {
  : >"$stage/done"
  exit "$1"
}

cd "$directory" || end 70

# Whoever wrote the repository must not decide what runs the script.
top=
at=$directory
while [ -n "$at" ]; do
  if [ -e "$at/.git" ]; then
    top=$at
    break
  fi
  at=${at%/*}
done

for python in "$@" python3 python; do
  case $python in
    */*) [ -x "$python" ] || continue ;;
    *)
      found=$(command -v "$python") || continue
      case $found in
        "${top:-/no/repository}"/*) continue ;;
        /*) ;;
        *) continue ;;
      esac
      ;;
  esac
  # It says when it has begun: whatever ends before that was no Python to use.
  "$python" -E -s -S "$stage/collect.py" "$mode" $rooms >/dev/null
  [ ! -e "$stage/started" ] || end 0
  printf '%s\0' "$python"
done
end 66
