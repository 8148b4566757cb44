//! What a command line would do: its syntax, and the rules it meets.

pub(crate) mod detect;
pub(crate) mod foreground;
pub(crate) mod gateway_self_harm;
pub(crate) mod glob;
pub(crate) mod hardline;
pub(crate) mod keys;
mod known_shell;
pub(crate) mod normalise;
pub(crate) mod own_files;
mod paths;
pub(crate) mod sudo;
pub(crate) mod syntax;
mod typed;
mod variables;

pub use detect::KnownPaths;
pub use known_shell::{KnownShell, UnknownShell};
pub use normalise::KnownHomes;
pub use sudo::{SudoRewrite, with_password_from_stdin};
pub use syntax::last_program;
pub use typed::{is_unfinished, runs_typed_text};
pub use variables::lists_variables;
