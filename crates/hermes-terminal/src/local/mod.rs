//! The local backend: commands as children of this process.

mod arguments;
mod context;
mod directory;
mod engine;
mod foreground;
mod login;
mod memory;
mod quoting;
mod random_id;
mod report;
mod script;
mod settings;
mod shell;
mod terminal;
mod tool;

pub use context::{
    CommandGuard, CommandKind, EnvSource, GuardOutcome, NoticeSupport, SpawnRequest, SudoInput,
    SudoSupport, ToolContext, WatcherFields,
};
pub use foreground::{Foreground, ForegroundResult};
pub use settings::TerminalSettings;
pub use shell::{Shell, ShellFinder, ShellKind};
pub use terminal::Terminal;
pub use tool::terminal;
