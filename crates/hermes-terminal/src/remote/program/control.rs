//! The program of the control channel: finds the processes of a command and signals them.
//!
//! A command's processes are its leader, whoever is in the session or group of one of them, whoever has
//! the command's mark among its limits, and their children at any depth: a daemon that forked twice,
//! made a session of its own and emptied its environment has the mark still. Each is remembered with its start time from the first look on: what loses
//! its parent during the kill is still found, and a number that means someone else by then is left
//! alone. The waiting is done by whoever asks. It starts no process, so it works where no process can
//! be started any more. Where there is no process table to look at, the leader's group is all that is
//! known.
//!
//! When its input ends without a goodbye, whoever asked is gone: the loops it was told to own, what
//! runs under them, and what has the mark of a command that runs there, are ended. What an earlier
//! command left goes on.

use super::Dialect;
use crate::shell::ShellKind;

/// `k`: the processes known to belong together, as ` pid:start `. `members` reads the process table
/// and sets `l` to those that live, adding newly found ones to `k`. `x`: numbers that were given to
/// someone else meanwhile. `m`: the marks, as limits of file locks; `u`: processes that have none of
/// them and need not be looked at again. Only who started after the command can be its.
const CONTROL: &str = r#"exec 2>/dev/null
@never@
i=$IFS
o=' '
h=
z=1
[ -r /proc/self/stat ] || z=0
send() {
kill -s "$1" -- "$2" || kill -s "$1" "$2"
}
table() {
t=
for _h_d in /proc/[0-9]*; do
@read_stat@
case $_h_x in *') '*) ;; *) continue;; esac
_h_x=${_h_x##*) }
set -- $_h_x
t="$t ${_h_d#/proc/}:$2:$3:$4:${20}:$1"
done
}
marked() {
while read -r _h_x; do
case $_h_x in
'Max file locks '*)
for _h_y in $m; do case $_h_x in *" $_h_y "*) return 0;; esac; done
return 1;;
esac
done <"/proc/$1/limits"
return 1
}
members() {
if [ $z = 0 ]; then
l=' '
for e in $k; do
p=${e%%:*}
if send 0 "-$p"; then l="$l-$p "; elif kill -0 "$p"; then l="$l$p "; fi
done
return
fi
table
x=' '
for e in $t; do
IFS=:; set -- $e; IFS=$i
case $k in
*" $1:$5 "*) ;;
*" $1:- "*) k="${k%% $1:- *} $1:$5 ${k#* $1:- }";;
*" $1:"*) x="$x$1 ";;
esac
done
if [ -n "$m" ]; then
b=${k#*:}
b=${b%% *}
for e in $t; do
IFS=:; set -- $e; IFS=$i
case $k in *" $1:$5 "*) continue;; esac
case $u in *" $1:$5 "*) continue;; esac
if [ "$b" != - ] && [ "$5" -lt "$b" ]; then continue; fi
if marked "$1"; then k="$k$1:$5 "; else u="$u$1:$5 "; fi
done
fi
r=' '
for e in $k; do
case $x in *" ${e%%:*} "*) ;; *) r="$r${e%%:*} ";; esac
done
a=' '
n=1
while [ $n = 1 ]; do
n=0
for e in $t; do
IFS=:; set -- $e; IFS=$i
case $a in *" $1 "*) continue;; esac
case $k in
*" $1:$5 "*) ;;
*) case $r in *" $2 "*|*" $3 "*|*" $4 "*) k="$k$1:$5 ";; *) continue;; esac;;
esac
if [ "$1" = $$ ]; then continue; fi
n=1
a="$a$1 "
r="$r$1 "
done
done
l=' '
for e in $t; do
IFS=:; set -- $e; IFS=$i
case $a in *" $1 "*) case $6 in Z|X) ;; *) l="$l$1 ";; esac;; esac
done
}
own() {
_h_d=/proc/$1
@read_stat@
_h_x=${_h_x##*) }
p=$1
set -- $_h_x
o="$o$p:${20:--} "
}
free() {
k=' '
for e in $o; do
case $e in "$1":*) ;; *) k="$k$e ";; esac
done
o=$k
}
@ready@
while IFS=' ' read -r v d s q; do
case $v in
own) own "$d";;
free) free "$d";;
signal)
eval "k=\$k_$d"
eval "u=\$u_$d"
m=
case $q in *' ='*) m=${q##* =}; q=${q%% =*};; esac
if [ -z "$k" ]; then k=" $q "; u=' '; fi
members
case $s in 0) ;; *) for p in $l; do send $s $p; done;; esac
eval "k_$d=\$k"
eval "u_$d=\$u"
@answer@;;
mark)
g=
for e in $h; do
case $e in "$d":*) ;; *) g="$g$e ";; esac
done
h="$g$d:$s ";;
@pass_on@
forget) unset "k_$d" "u_$d";;
bye) exit 0;;
esac
done
k=$o
case $k in ' ') exit 0;; esac
m=
u=' '
members
g=
for e in $h; do
m=${e#*:}
for p in $l; do if marked $p; then g="$g $m"; break; fi; done
done
m=$g
members
for p in $l; do send TERM $p; done
c=0
while [ $c -lt 10 ]; do
c=$((c+1))
@pause@
members
case $l in ' ') exit 0;; esac
done
c=0
while [ $c -lt 20 ]; do
c=$((c+1))
for p in $l; do send KILL $p; done
@pause@
members
case $l in ' ') exit 0;; esac
done
"#;

/// The control program for a kind of shell.
pub(in crate::remote) fn control_program(kind: ShellKind) -> String {
    signalling_program(kind, &ALONE)
}

/// A program that signals processes. A shell that can neither sleep nor wait without starting
/// a process looks at the process table instead, which takes a moment as well.
pub(super) fn signalling_program(kind: ShellKind, speech: &Speech) -> String {
    let (never, pause) = match kind {
        ShellKind::Bash => ("exec 104<> <(:)", "read -t 0.1 -u 104"),
        ShellKind::Posix => ("", "members; members"),
    };
    let program = CONTROL
        .replace("@never@", never)
        .replace("@pause@", pause)
        .replace("@ready@", speech.ready)
        .replace("@answer@", speech.answer)
        .replace("@pass_on@", speech.pass_on);
    Dialect::of(kind).fill(&program)
}

/// How the program speaks to whoever asks.
pub(super) struct Speech {
    /// Says that it has begun.
    pub(super) ready: &'static str,
    /// Answers the question `$d` with the processes `$l`.
    pub(super) answer: &'static str,
    /// One more verb, or nothing.
    pub(super) pass_on: &'static str,
}

/// The program of a channel of its own, which answers with lines.
const ALONE: Speech = Speech {
    ready: "printf 'ready\\n'",
    answer: "printf '%s%s\\n' \"$d\" \"$l\"",
    pass_on: "",
};
