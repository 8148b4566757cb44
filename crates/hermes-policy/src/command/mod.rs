//! What a command line would do: the rules it meets.

pub(crate) mod detect;
pub(crate) mod foreground;
pub(crate) mod gateway_self_harm;
pub(crate) mod hardline;
pub(crate) mod keys;
pub(crate) mod known_homes;
pub(crate) mod own_files;
mod paths;
pub(crate) mod sudo;

pub use detect::KnownPaths;
pub use known_homes::KnownHomes;
pub use sudo::{SudoRewrite, with_password_from_stdin};
