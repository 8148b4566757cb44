//! A directory that was asked for and cannot be used.

use std::path::PathBuf;

/// Why a command cannot run in the directory that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkdirError {
    /// It holds a character that no directory of the backend may have.
    #[error("workdir must not contain a {0}")]
    Forbidden(&'static str),
    /// It is not there or cannot be entered.
    #[error("{}: no such directory", .0.display())]
    Missing(PathBuf),
}
