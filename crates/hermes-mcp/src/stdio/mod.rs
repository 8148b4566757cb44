//! Servers that are programs.

mod process;
mod stderr_log;
mod transport;

pub(crate) use process::{ServerProcess, start};
