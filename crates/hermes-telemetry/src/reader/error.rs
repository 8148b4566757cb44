//! Errors of reading a log.

use std::path::PathBuf;

use super::name::LogName;

/// A log that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("the log '{name}' does not exist yet: {} is missing", path.display())]
    Missing { name: LogName, path: PathBuf },
    #[error(transparent)]
    Fs(#[from] hermes_fs::Error),
}

impl ReadError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { .. } => {
                Some("run 'hermes logs list' to see which logs exist".to_owned())
            }
            Self::Fs(error) => error.hint(),
        }
    }
}
