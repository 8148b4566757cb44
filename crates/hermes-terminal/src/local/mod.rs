//! The local backend: commands as children of this process.

pub(crate) mod arguments;
mod context;
mod directory;
pub(crate) mod engine;
pub(crate) mod foreground;
mod login;
pub(crate) mod memory;
mod prepared;
pub(crate) mod quoting;
pub(crate) mod report;
pub(crate) mod script;
mod settings;
mod shell;
pub(crate) mod shell_start;
mod terminal;
pub(crate) mod tool;

pub use context::{
    CommandGuard, CommandKind, EnvSource, GuardOutcome, NoticeSupport, SpawnRequest, SudoInput,
    SudoSupport, ToolContext, WatcherFields,
};
pub use foreground::{Foreground, ForegroundResult};
pub use quoting::quote;
pub use settings::TerminalSettings;
pub use shell::{Shell, ShellFinder, ShellKind};
pub use terminal::Terminal;
pub use tool::terminal;
