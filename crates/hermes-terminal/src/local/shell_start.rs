//! What every start of a shell needs: its arguments and descriptors for it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};

use super::shell::ShellKind;

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

/// A pipe that no child gets by accident: the reading end, then the writing end.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// The same descriptor under a number that no command uses by itself.
pub(crate) fn out_of_the_way(descriptor: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    const FIRST: i32 = 100;
    Ok(rustix::io::fcntl_dupfd_cloexec(descriptor, FIRST)?)
}
