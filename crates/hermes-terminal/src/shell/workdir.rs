//! A directory that was asked for and cannot be used.

use std::path::PathBuf;

/// Why a command cannot run in the directory that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkdirError {
    #[error("workdir must not contain a {0}")]
    Forbidden(&'static str),
    #[error("{}: no such directory", .0.display())]
    Missing(PathBuf),
}
