# $1 the directory of the script, $2 the number of the request, $3 bytes of the answer on standard input
cd "$1/rpc" || refuse gone
message=$(cat 2>&1 >"ans_$2") || refuse failed "$message"
[ $(($(wc -c <"ans_$2"))) = "$3" ] || refuse short
message=$(mv "ans_$2" "res_$2" 2>&1) || refuse failed "$message"
field answered
