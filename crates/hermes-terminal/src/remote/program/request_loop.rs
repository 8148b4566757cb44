//! The loop of a channel: keeps a shell ready, lets it take a request, says how that ended.
//!
//! The shell of a command is started before the command is known, because starting it takes longer
//! than most commands. It waits for a line, takes what it has to do from the same pipe, by exact
//! length, and becomes the command's shell; the loop waits for it and starts the next. The loop itself
//! reads no request and never runs anything of one. Should a shell end before it has read everything,
//! the rest is not taken for a request: each begins with a word that commands do not know and with the
//! number of the shell it is meant for.
//!
//! In front of a loop of bash stands a guard, which passes requests on and can end what the loop has
//! started. A channel whose command reads our input has none: the input goes straight to the command,
//! whatever bytes it is made of.

use super::Dialect;
use super::guard::guard_program;
use crate::shell::ShellKind;
use crate::shell::quoting::quote;

/// `_h_k` is the word before each request, `_h_z` with a number the word that ends the command of that
/// number. Variables of the loop have names nobody exports: an exported one would reach every command.
///
/// The end of a command is told together with whether anything can be left of it. Nothing can if no
/// process is there that was started since the command before it ended; `_h_t` is the last number given
/// out by then. Where that is not known, or does not count a process that was just started (some tell
/// a number of some seconds ago), nothing is said.
const LOOP: &str = r#"exec @control@>&2 2>/dev/null
IFS=' ' read -r _h_k _h_z || exit 0
_h_p=@prologue@
_h_l=@launcher@
_h_r=@server@
@enter@
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
_h_c=0
_h_v=/proc/loadavg
: &
read -r _h_d _h_d _h_d _h_d _h_t <"$_h_v"
if [ "$_h_t" -lt $! ]; then _h_v=/dev/null; fi
wait $!
while :; do
$_h_a @shell@ @plain@ -c "$_h_r" @name@ "$_h_k" "$_h_c" "$_h_p" "$_h_l" @requests@<&0 0</dev/null 2>/dev/null
_h_s=$?
_h_o=$_h_t
read -r _h_d _h_d _h_d _h_d _h_t <"$_h_v"
_h_f=
if [ "$_h_o" -gt 0 ] && [ "$_h_t" -ge "$_h_o" ] && [ "$((_h_t-_h_o))" -lt 50 ]; then
_h_f=idle
while [ "$_h_o" -lt "$_h_t" ]; do
_h_o=$((_h_o+1))
if [ -e "/proc/$_h_o" ]; then _h_f=; break; fi
done
fi
printf %s%se "$_h_z" "$_h_c"
printf '\0%s%s\0end\0%s\0%s\0' "$_h_z" "$_h_c" "$_h_s" "$_h_f" >&@control@
_h_c=$((_h_c+1))
done
"#;

/// The guard reads our input and writes to the loop, which stays the process we know: should it end,
/// so does the channel.
const ENTER_GUARDED: &str = r#"_h_g=@guard@
exec @requests@<&0
coproc _h_q { exec @shell@ @plain@ -c "$_h_g" @name@ "$_h_k" 0<&@requests@ @requests@<&-; }
eval "exec 0<&${_h_q[0]} ${_h_q[0]}<&- ${_h_q[1]}>&- @requests@<&-""#;

/// What a shell does while it waits, on one line with its prologue; with the word and the number of
/// its requests, the prologue and the launcher as arguments. When nothing can come any more, the loop
/// has to end.
///
/// After a command the next shell looks for what it left: whoever holds its output or is in its
/// session. Who was started by the command has a number between the command's and the last one given
/// out. This happens in a subshell, so that the shell stays as it was started.
const SERVER: &str = "\
while :; do @read_request@ || { kill -KILL $PPID; exit 125; }; \
set -- \"$1\" \"$2\" \"$3\" \"$4\" $REPLY; \
if [ \"$5\" != \"$1\" ] || [ \"$6\" != \"$2\" ]; then kill -KILL $PPID; exit 125; fi; \
case $7 in \
check) ( _h_s=idle; _h_m=0; read -r _h_m _h_d </proc/self/stat || _h_s=busy; \
_h_n=$8; _h_b=$9; shift 9; _h_f=$1; _h_t=0; \
read -r _h_d _h_d _h_d _h_d _h_t </proc/loadavg; set --; \
if [ \"$_h_f\" -gt 0 ] && [ \"$_h_t\" -ge \"$_h_f\" ]; then \
if [ $((_h_t-_h_f)) -lt 100 ]; then \
while [ $_h_f -le $_h_t ]; do set -- \"$@\" $_h_f; _h_f=$((_h_f+1)); done; \
else for _h_d in /proc/[0-9]*; do _h_d=${_h_d#/proc/}; \
if [ $_h_d -ge $_h_f ] && [ $_h_d -le $_h_t ]; then set -- \"$@\" $_h_d; fi; done; fi; \
else for _h_d in /proc/[0-9]*; do set -- \"$@\" ${_h_d#/proc/}; done; fi; \
for _h_d in \"$@\"; do case $_h_d in $$|$PPID|$_h_m) continue;; esac; \
_h_d=/proc/$_h_d; if [ ! -e \"$_h_d\" ]; then continue; fi; \
if [ \"$_h_d/fd/1\" -ef \"/proc/$$/fd/1\" ] || [ \"$_h_d/fd/2\" -ef \"/proc/$$/fd/1\" ]; then \
_h_s=busy; break; fi; \
@read_stat@; _h_x=${_h_x##*) }; set -- $_h_x; \
case \" $3 $4 \" in *\" $_h_b \"*) case $1 in Z|X) ;; *) _h_s=busy; break;; esac;; esac; done; \
printf '\\0%s\\0%s\\0' \"$_h_n\" \"$_h_s\" >&@control@ );; \
run) printf %sb \"$8\"; set --; break;; \
login) printf %sb \"$8\"; exec @shell@ -l -c \"$3\" @name@;; \
start) printf %sb \"$8\"; exec @shell@ @plain@ -c \"$4\" @name@ \"$3\" \"$9\" >/dev/null;; \
*) kill -KILL $PPID; exit 125;; \
esac; done; ";

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
builtin set --; SECONDS=0; builtin shopt -s expand_aliases; \
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

/// The program of a channel; only bash can have a guard.
pub(in crate::remote) fn loop_program(kind: ShellKind, is_guarded: bool) -> String {
    let dialect = Dialect::of(kind);
    let prologue = match kind {
        ShellKind::Bash => BASH_PROLOGUE,
        ShellKind::Posix => POSIX_PROLOGUE,
    };
    let quoted = |text: &str| String::from_utf8_lossy(&quote(text.as_bytes())).into_owned();
    let filled = |template: &str| quoted(&dialect.fill(template));
    let enter = if is_guarded {
        let guard = quoted(&guard_program());
        dialect.fill(ENTER_GUARDED).replace("@guard@", &guard)
    } else {
        String::new()
    };
    dialect
        .fill(LOOP)
        .replace("@prologue@", &filled(prologue))
        .replace("@launcher@", &filled(LAUNCHER))
        .replace("@server@", &filled(&format!("{SERVER}{prologue}")))
        .replace("@enter@", &enter)
}
