//! Running an agent's commands: sessions and background processes, on this machine or on a remote
//! host behind a [`backend::Backend`].
//!
//! Modules from the bottom up: `shell` and `output`, then `background`, then `backend` with its
//! siblings `local` and `remote`, and [`Terminal`] above them.

mod approval;
pub mod backend;
pub mod background;
pub mod carried_files;
mod command;
mod confinement;
pub mod environment;
pub mod local;
mod lock;
mod old_files;
pub mod output;
pub mod remote;
mod settings;
pub mod shell;
pub mod sudo;
mod terminal;
mod wall;

pub use approval::{
    CommandApprover, CommandCheck, CommandDecision, CommandKind, Refusal, RefusalKind, SudoInput,
    SudoSupport,
};
pub use background::Started;
pub use command::{CommandOutcome, CommandRequest, NotRun, StartRequest, SudoOutcome};
pub use settings::TerminalSettings;
pub use shell::SessionKey;
pub use terminal::{Terminal, Typed};
