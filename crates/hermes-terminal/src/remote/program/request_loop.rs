//! The loop of a channel: reads a line, runs a shell for it, says how that ended.
//!
//! The loop itself never reads what a command's shell is told, and never runs anything of it: the
//! shell takes it from the same pipe, by exact length. Should a shell end before it has read everything,
//! the rest is not taken for a request: each begins with a word only the loop and Hermes know.

use super::Dialect;
use crate::shell::ShellKind;
use crate::shell::quoting::quote;

/// After a command the loop looks for what it left: whoever holds its output or is in its session. Who
/// was started by the command has a number between the command's and the last one given out.
/// Variables of the loop have names nobody exports: an exported one would reach every command.
const LOOP: &str = r#"exec @control@>&2 2>/dev/null
IFS= read -r _h_k || exit 0
_h_p=@prologue@
_h_l=@launcher@
_h_a=
if command -v setsid >/dev/null; then _h_a=setsid; else set -m; fi
{
printf '\0%s\0hello\0@name@\0%s\0%s\0' "$_h_k" @version@ "$$"
case $_h_a$- in setsid*) printf session;; *m*) printf group;; *) printf none;; esac
printf '\0'
umask
printf '\0%s\0' "$HOME"
@exports@
printf '\0%s\0' "$_h_k"
} >&@control@
while IFS=' ' read -r _h_w _h_v _h_n _h_b _h_f; do
if [ "$_h_w" != "$_h_k" ]; then exit 0; fi
case $_h_v in
run) printf %sb "$_h_n"
$_h_a @shell@ @plain@ -c "$_h_p" @name@ @requests@<&0 0</dev/null 2>/dev/null
_h_s=$?;;
login) printf %sb "$_h_n"
$_h_a @shell@ -l -c "$_h_p" @name@ @requests@<&0 0</dev/null 2>/dev/null
_h_s=$?;;
start) printf %sb "$_h_n"
$_h_a @shell@ @plain@ -c "$_h_l" @name@ "$_h_p" "$_h_b" @requests@<&0 0</dev/null >/dev/null 2>&1
_h_s=$?;;
check) _h_s=idle
[ -r /proc/self/stat ] || _h_s=busy
_h_t=0
read -r _h_d _h_d _h_d _h_d _h_t </proc/loadavg
set --
if [ "$_h_f" -gt 0 ] && [ "$_h_t" -ge "$_h_f" ]; then
if [ $((_h_t-_h_f)) -lt 100 ]; then
while [ $_h_f -le $_h_t ]; do set -- "$@" $_h_f; _h_f=$((_h_f+1)); done
else
for _h_d in /proc/[0-9]*; do
_h_d=${_h_d#/proc/}
if [ $_h_d -ge $_h_f ] && [ $_h_d -le $_h_t ]; then set -- "$@" $_h_d; fi
done
fi
else
for _h_d in /proc/[0-9]*; do set -- "$@" ${_h_d#/proc/}; done
fi
for _h_d in "$@"; do
_h_d=/proc/$_h_d
if [ "$_h_d" = "/proc/$$" ] || [ ! -e "$_h_d" ]; then continue; fi
if [ "$_h_d/fd/1" -ef "/proc/$$/fd/1" ] || [ "$_h_d/fd/2" -ef "/proc/$$/fd/1" ]; then _h_s=busy; break; fi
@read_stat@
_h_x=${_h_x##*) }
set -- $_h_x
case " $3 $4 " in *" $_h_b "*) case $1 in Z|X) ;; *) _h_s=busy; break;; esac;; esac
done
set --
printf '\0%s\0%s\0' "$_h_n" "$_h_s" >&@control@
continue;;
*) exit 0;;
esac
printf %se "$_h_n"
printf '\0%s\0end\0%s\0' "$_h_n" "$_h_s" >&@control@
done
"#;

/// What a command's shell does before the command, on one line, so that it is parsed before any
/// alias or function of the session exists and so that lines are counted from the command's first.
/// Everything is read before anything can go wrong: what is left would be taken for a request.
/// Bash cannot mark a descriptor "close on exec", but does so with its copy of a standard stream
/// while that is redirected, and a duplicate of such a copy inherits the mark. At the end `$_` holds
/// the command and no variable does.
const BASH_PROLOGUE: &str = "\
{ { if [ /dev/fd/10 -ef /dev/fd/@control@ ]; then exec @control@>&10; \
elif [ /dev/fd/11 -ef /dev/fd/@control@ ]; then exec @control@>&11; fi; } 0<&1; } 0<&@control@; \
builtin read -r -u @requests@ REPLY || exit 125; builtin set -- $REPLY $1; \
LC_ALL=C IFS= builtin read -r -N $1 -u @requests@ REPLY || exit 125; builtin eval \"$REPLY\"; \
LC_ALL=C IFS= builtin read -r -N $2 -u @requests@ REPLY || exit 125; \
builtin set -- \"$REPLY\" \"$2\" \"$3\" \"$4\" \"$5\"; \
LC_ALL=C IFS= builtin read -r -N $3 -u @requests@ REPLY || exit 125; builtin eval \"$REPLY\"; \
REPLY=$1; case $4 in *i*) exec 0<&@requests@;; esac; exec @requests@<&-; \
case $4 in *e*) exec 2>&1;; esac; \
case $5 in ?*) builtin kill -KILL $5;; esac; \
builtin set --; builtin shopt -s expand_aliases; \
builtin printf -v REPLY '' \"$REPLY\"; builtin eval \"$_\"";

/// The same for other shells, where lengths are counted in lines: their `read` takes no more than
/// the line from a pipe, while the small tools that count bytes do. Lines are put together in
/// bundles, because a long text is copied each time something is added to it.
const POSIX_PROLOGUE: &str = "\
_h_take() { _h_t=; while [ $_h_n -gt 0 ]; do _h_c=; _h_k=0; \
while [ $_h_k -lt 64 ] && [ $_h_n -gt 0 ]; do IFS= read -r REPLY || exit 125; _h_c=\"$_h_c$REPLY\n\"; \
_h_k=$((_h_k+1)); _h_n=$((_h_n-1)); done; _h_t=\"$_h_t$_h_c\"; done; }; \
read -r REPLY <&@requests@ || exit 125; set -- $REPLY $1; \
_h_n=$2; _h_take <&@requests@; set -- \"$_h_t\" \"$2\" \"$3\" \"$4\" \"$5\"; \
_h_n=$3; _h_take <&@requests@; REPLY=$_h_t; unset -f _h_take; unset _h_t _h_c _h_k _h_n; \
eval \"$REPLY\"; REPLY=$1; \
case $4 in *i*) exec 0<&@requests@;; esac; exec @requests@<&-; \
case $4 in *e*) exec 2>&1;; esac; \
case $5 in ?*) kill -KILL $5;; esac; \
set --; eval \"$REPLY\"";

/// Starts a background process: a shell that waits for it and writes down how it ended, in a session
/// of their own. The process ends this launcher as soon as it has read what it has to do, so that the
/// loop can go on. With job control (where the shell can do it without a terminal) the process does
/// not ignore the signals that background processes of a script otherwise ignore.
const LAUNCHER: &str = r#"set -m
( set -m
@shell@ @plain@ -c "$1" @name@ $$ &
set +m
exec @control@>&- @requests@<&-
wait $!
_h_s=$?
umask 077
printf '%s\n' "$_h_s" >"$2.exit" ) &
wait
"#;

pub(in crate::remote) fn loop_program(kind: ShellKind) -> String {
    let dialect = Dialect::of(kind);
    let prologue = match kind {
        ShellKind::Bash => BASH_PROLOGUE,
        ShellKind::Posix => POSIX_PROLOGUE,
    };
    let quoted = |template: &str| {
        let text = quote(dialect.fill(template).as_bytes());
        String::from_utf8_lossy(&text).into_owned()
    };
    dialect
        .fill(LOOP)
        .replace("@prologue@", &quoted(prologue))
        .replace("@launcher@", &quoted(LAUNCHER))
}
