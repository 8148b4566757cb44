//! Servers that are programs.

mod package;
mod process;
mod stderr_log;
mod transport;

pub(crate) use package::public_package;
pub(crate) use process::{ServerProcess, start};
