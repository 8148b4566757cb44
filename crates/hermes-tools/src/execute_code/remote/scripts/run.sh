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

if [ "$mode" = project ]; then
  # Environments of the project: here and above, up to the root of the repository.
  top=$directory
  at=$directory
  while [ -n "$at" ]; do
    if [ -e "$at/.git" ]; then
      top=$at
      break
    fi
    at=${at%/*}
  done
  at=$directory
  while :; do
    set -- "$@" "$at/.venv/bin/python" "$at/venv/bin/python"
    [ "$at" != "$top" ] && [ -n "$at" ] || break
    at=${at%/*}
  done
fi

for python in "$@" python3 python; do
  case $python in
    */*) [ -x "$python" ] || continue ;;
    *) command -v "$python" >/dev/null || continue ;;
  esac
  # It says when it has begun: whatever ends before that was no Python to use.
  "$python" -E -s -S "$stage/collect.py" "$mode" $rooms >/dev/null
  [ ! -e "$stage/started" ] || end 0
  printf '%s\0' "$python"
done
end 66
