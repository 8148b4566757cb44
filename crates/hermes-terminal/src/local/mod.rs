//! The local backend: commands as children of this process.

mod backend;
mod command;
mod directory;
mod login;
mod prepared;
mod process;
mod sandbox;
mod shell_run;
mod shell_start;

pub use backend::LocalBackend;
pub use sandbox::LocalSandbox;
