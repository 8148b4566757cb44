//! Becoming another program, or this one anew, without a new process.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Runs a program in the place of this one: same process, same variables, same standard streams.
/// `name` is what the process calls itself. Comes back only with the reason why it could not be done.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the wrapper; nothing is spawned"
)]
pub fn replace_process<S: AsRef<OsStr>>(
    program: &Path,
    name: &str,
    args: impl IntoIterator<Item = S>,
) -> io::Error {
    Command::new(program).arg0(name).args(args).exec()
}
