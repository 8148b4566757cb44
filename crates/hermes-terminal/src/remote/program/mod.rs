//! The programs that run on the remote host.
//!
//! They are constant texts: what a command is, which variables it gets and where it runs travels
//! through a pipe and never stands in an argument. Only builtins of the shell are used, so that they
//! work in small images and where no process can be started any more.

mod control;
mod dialect;
mod guard;
mod request_loop;

pub(super) use control::control_program;
pub(super) use dialect::Dialect;
pub(super) use request_loop::loop_program;

use crate::shell::ShellKind;

/// The arguments of a shell that runs `program`.
pub(super) fn arguments(kind: ShellKind, program: &str) -> Vec<&str> {
    match kind {
        ShellKind::Bash => vec!["bash", "--noprofile", "--norc", "-c", program, "bash"],
        ShellKind::Posix => vec!["sh", "-c", program, "sh"],
    }
}
