# $1 a directory to make, $2 bytes of the script on standard input, $3 the module, $4 the collector, $5
# where the script is to run, $6 "sweep" to remove what crashed runs left
umask 077
message=$(mkdir "$1" 2>&1 && mkdir "$1/script" "$1/rpc" 2>&1) || refuse failed "$message"
message=$({
  cat >"$1/script/script.py" &&
    printf '%s' "$3" >"$1/script/hermes_tools.py" &&
    printf '%s' "$4" >"$1/collect.py"
} 2>&1) || refuse failed "$message"
[ $(($(wc -c <"$1/script/script.py"))) = "$2" ] || refuse short
# What others run has not been touched for a day only if nobody is left to run it.
[ "$6" != sweep ] || find "${1%/*}" -maxdepth 1 -type d -name 'hermes-script-*' -user "$(id -u)" \
  -mtime +1 -exec rm -rf {} +
if [ -d "$5" ]; then
  field staged there
else
  field staged missing
fi
