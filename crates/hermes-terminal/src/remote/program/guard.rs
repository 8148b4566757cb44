//! The program between us and the loop of a channel: passes requests on, and ends what they started.
//!
//! It is there before the first command, so it works when no process can be started any more; and it
//! ends with our input, so what runs when Hermes is killed does not outlive it. Only bash can do this:
//! others cannot pass on a number of bytes, nor stay the process we know behind a pipe.

use super::control::{Speech, signalling_program};
use crate::shell::ShellKind;

/// Answers are records on the control stream, behind the word given as argument.
const GUARD: Speech = Speech {
    ready: "LC_ALL=C; trap '' PIPE",
    answer: "printf '\\0%s\\0pids\\0%s%s\\0' \"$1\" \"$d\" \"$l\" >&@control@",
    pass_on: "to) IFS= read -r -N \"$d\" q && printf %s \"$q\";;",
};

pub(super) fn guard_program() -> String {
    signalling_program(ShellKind::Bash, &GUARD)
}
