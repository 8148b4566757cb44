# Sets $real to the absolute path $1 with every link followed, down to a part that does not exist yet.
resolve() {
  at=$1 rest= up=0 links=0
  while :; do
    if [ -h "$at" ]; then
      links=$((links + 1))
      [ "$links" -le 40 ] || refuse links
      # The letter keeps line ends at the end of a name from being lost.
      link=$(readlink "$at" && echo x) || refuse denied
      link=${link%?x}
      case $link in
        /*) at=$link ;;
        *) at=${at%/*}/$link ;;
      esac
    elif [ -d "$at" ]; then
      while [ "$up" -gt 0 ]; do
        at=$at/.. up=$((up - 1))
      done
      real=$(cd -P "$at" && pwd -P && echo x) || refuse denied
      real=${real%?x}
      [ "$real" != / ] || real=
      real=$real$rest
      [ -n "$real" ] || real=/
      return 0
    else
      name=${at##*/}
      [ -z "$rest" ] || [ ! -e "$at" ] || refuse inside
      case $name in
        '' | .) ;;
        # Of what is not there only the names can say where this leads.
        ..) up=$((up + 1)) ;;
        *) if [ "$up" -gt 0 ]; then up=$((up - 1)); else rest=/$name$rest; fi ;;
      esac
      at=${at%/*}
      [ -n "$at" ] || at=/
    fi
  done
}

# Prints the state of a file, its size first.
stamp() {
  stat -L -c '%s %i %y' "$1" || stat -L -f '%z %i %Fm' "$1" || echo $(($(wc -c <"$1")))
}

# Ends unless $real is a regular file.
regular() {
  [ -e "$real" ] || refuse missing "$real"
  [ ! -d "$real" ] || refuse directory "$real"
  [ -f "$real" ] || refuse special "$real"
}
