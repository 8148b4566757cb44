# Sets $real to where a search begins.
beginning() {
  resolve "$1"
  [ -e "$real" ] || refuse missing
}

# Prints the files below $real whose name fits $1 (empty: all), each ended by a NUL; nothing hidden.
files() {
  if [ ! -d "$real" ]; then
    # Asked for by its name, it may be hidden.
    [ ! -f "$real" ] || printf '%s\0' "$real"
  elif [ -n "$1" ]; then
    find "$real/." ! -name . -name '.*' -prune -o -type f -name "$1" -print0
  else
    find "$real/." ! -name . -name '.*' -prune -o -type f -print0
  fi
}

# Puts paths into the order of a walk: a directory's files stay together.
in_order() {
  if printf 'x\0' | sort -z >/dev/null; then
    tr / '\001' | sort -z | tr '\001' /
  else
    cat
  fi
}

# Cuts lines after $1 bytes, unless the program for it ends them at a NUL.
narrow() {
  if [ "$(printf 'a\0b\n' | cut -b 1-9 | wc -c)" -eq 4 ]; then
    cut -b "1-$1"
  else
    cat
  fi
}

# Prints the paths that come, each as its time, a blank and itself, ended by a NUL.
with_time() {
  xargs -0 sh -c '
    case "$*" in
      *"
"*)
        for file do
          printf "%s %s\0" "$(stat -c %Y "$file" || stat -f %m "$file")" "$file"
        done
        ;;
      *)
        { stat -c "%.9Y %n" "$@" || stat -f "%m %N" "$@"; } | tr "\n" "\000"
        ;;
    esac
  ' sh
}
