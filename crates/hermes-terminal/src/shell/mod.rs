//! What all backends know of shells: the state that lasts from one command of a conversation to the
//! next (directory, exported variables, functions, aliases; in memory only), the text a shell is
//! given before a command, and the report it writes at its end.
//!
//! Nothing here starts a process.

mod key;
mod known;
pub(crate) mod memory_file;
mod overlay;
mod program;
pub(crate) mod quoting;
pub(crate) mod report;
pub(crate) mod script;
mod sessions;
mod state;
mod workdir;

pub use hermes_proc::env::Overlay;
pub use key::SessionKey;
pub(crate) use known::SessionShell;
pub(crate) use overlay::is_identifier;
pub use program::{Shell, ShellFinder, ShellKind};
pub use quoting::quote;
pub use sessions::{Session, Sessions};
pub use state::ShellState;
pub(crate) use state::StateDelta;
pub use workdir::WorkdirError;
