//! What the shell is told before it runs a command.
//!
//! The command itself is handed over as it was given, on a descriptor: it is neither rewritten nor
//! visible in the process table, and may be longer than an argument. Its shell sees an empty `$@`,
//! `bash` as `$0` and line numbers that begin at one.

use std::ffi::OsString;
use std::os::fd::RawFd;

use super::program::ShellKind;
use super::quoting::quote;
use super::state::{Definitions, ShellState};

/// Descriptors of the shell, by number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Channels {
    pub(crate) script: RawFd,
    pub(crate) report: Option<RawFd>,
    pub(crate) gate: Option<RawFd>,
}

pub(crate) struct Script<'a> {
    pub(crate) state: &'a ShellState,
    pub(crate) command: &'a [u8],
    /// First and last word of a report. Nobody but the shell knows it, so nothing that happens to
    /// write to the descriptor is taken for a report.
    pub(crate) nonce: &'a str,
}

impl Script<'_> {
    /// What the shell reads from [`Channels::script`].
    pub(crate) fn text(&self, kind: ShellKind, report: Option<RawFd>) -> Vec<u8> {
        let mut out = Vec::with_capacity(1024 + self.command.len());
        match kind {
            ShellKind::Bash => {
                if let Some(report) = report {
                    out.extend_from_slice(bash_trap(&format!(">&{report}"), self.nonce).as_bytes());
                }
                aliases(&mut out, &self.state.aliases);
                out.push(0);
                for definition in self.state.functions.values() {
                    out.extend_from_slice(definition);
                    out.push(b'\n');
                }
                out.push(0);
                out.extend_from_slice(self.command);
                out.push(0);
            }
            ShellKind::Posix => {
                if let Some(report) = report {
                    out.extend_from_slice(
                        posix_trap(&format!("1<>/dev/fd/{report}"), self.nonce).as_bytes(),
                    );
                }
                out.extend_from_slice(b"eval ");
                out.extend_from_slice(&quote(self.command));
                out.push(b'\n');
            }
        }
        out
    }
}

/// The argument after `-c`. Everything stands on one line, so that it is parsed before any alias
/// or function of the session exists.
pub(crate) fn prologue(kind: ShellKind, channels: Channels) -> String {
    let Channels {
        script,
        report,
        gate,
    } = channels;
    let mut line = String::new();
    match kind {
        ShellKind::Bash => {
            if let Some(report) = report {
                // Bash cannot mark a descriptor "close on exec", but it does so with its copy of a
                // standard stream while that is redirected, and a duplicate of such a copy inherits
                // the mark. The copy is the first free number from 10 on; whether it is the right
                // one is looked at, because a wrong one would get the report.
                line.push_str(&format!(
                    "{{ {{ [ /dev/fd/10 -ef /dev/fd/{report} ] && exec {report}>&10; }} 0<&1; }} \
                     0<&{report}; "
                ));
            }
            if let Some(gate) = gate {
                line.push_str(&format!(
                    "read -r REPLY <&{gate} || exit 125; exec {gate}<&-; "
                ));
            }
            let read = format!("IFS= builtin read -r -d '' -u {script} REPLY");
            line.push_str(&format!(
                "{read}; builtin eval \"$REPLY\"; \
                 {read}; builtin eval \"$REPLY\" 2>/dev/null; \
                 {read}; exec {script}<&-; builtin shopt -s expand_aliases; "
            ));
            // Afterwards `$_` holds the command and no variable does.
            line.push_str("builtin printf -v REPLY '' \"$REPLY\"; builtin eval \"$_\"");
        }
        ShellKind::Posix => {
            // Small shells know descriptors of one digit only, but can open others by name.
            if let Some(gate) = gate {
                line.push_str(&format!("read -r REPLY </dev/fd/{gate} || exit 125; "));
            }
            line.push_str(&format!(
                "REPLY=$(cat /dev/fd/{script}; echo x); eval \"${{REPLY%x}}\""
            ));
        }
    }
    line
}

/// Reports at the end of the shell, to where the redirection `report` leads. Without forking, and deaf to options and traps of the command.
pub(crate) fn bash_trap(report: &str, nonce: &str) -> String {
    let sections = [
        "\\builtin declare -px",
        "\\builtin declare -F",
        "\\builtin declare -f",
        "\\builtin alias -p",
        "\\builtin pwd -P || \\builtin printf %s \"$PWD\"",
    ];
    format!(
        "builtin trap '{{ \\builtin trap - DEBUG ERR RETURN; \\builtin printf \"{nonce}\\0\"; {}; \
         \\builtin printf \"\\0{nonce}\\0\"; }} {report} 2>/dev/null' EXIT\n",
        sections.join(" || :; \\builtin printf \"\\0\"; ")
    )
}

pub(crate) fn posix_trap(report: &str, nonce: &str) -> String {
    format!(
        "trap '{{ printf \"{nonce}\\0\"; export -p; printf \"\\0\\0\\0\\0\"; pwd -P || printf %s \"$PWD\"; \
         printf \"\\0{nonce}\\0\"; }} {report} 2>/dev/null' EXIT\n"
    )
}

pub(crate) fn aliases(out: &mut Vec<u8>, aliases: &Definitions) {
    for (name, value) in aliases {
        out.extend_from_slice(b"builtin alias -- ");
        out.extend_from_slice(&quote(&[name.as_slice(), b"=", value].concat()));
        out.push(b'\n');
    }
}

/// Arguments with which a shell runs a prologue.
pub(crate) fn shell_arguments(kind: ShellKind, login: bool, prologue: &str) -> Vec<OsString> {
    let mut args: Vec<OsString> = Vec::new();
    let is_bash = kind == ShellKind::Bash;
    if is_bash && !login {
        args.extend(["--norc", "--noprofile"].map(OsString::from));
    }
    if login {
        args.push("-l".into());
    }
    args.extend(["-c", prologue, if is_bash { "bash" } else { "sh" }].map(OsString::from));
    args
}
