//! Why a file did not get from one machine to another, with the way out.

use std::path::PathBuf;

use crate::id::TaskId;

/// Why a file did not get from one machine to another.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error(
        "{what} has more than {} MiB and cannot be kept where all machines of the board find it",
        limit / MIB
    )]
    TooLarge { what: String, limit: u64 },
    #[error(
        "{what} does not fit: the files of {id} would have more than {} MiB together",
        limit / MIB
    )]
    CardFull {
        what: String,
        id: TaskId,
        limit: u64,
    },
    #[error("{what} is incomplete on the board's server: {problem}")]
    Incomplete { what: String, problem: String },
    #[error("{what} arrived with another content than it was sent with")]
    Altered { what: String },
    #[error(
        "{what} is in the directory that the machines of the board share, and none is set here"
    )]
    NotShared { what: String },
    #[error("{what} is not in the shared directory: {} {problem}", path.display())]
    NotInDirectory {
        what: String,
        path: PathBuf,
        problem: String,
    },
    #[error("{what} is on another machine, at {}", path.display())]
    Elsewhere { what: String, path: PathBuf },
}

const MIB: u64 = 1024 * 1024;

impl TransferError {
    /// What the user can do next.
    pub fn hint(&self) -> String {
        match self {
            Self::TooLarge { .. } => {
                "raise kanban.transfer_max_file_bytes, or make the file smaller".to_owned()
            }
            Self::CardFull { .. } => {
                "raise kanban.transfer_max_bytes, or remove attachments of the card".to_owned()
            }
            Self::Incomplete { .. } | Self::Altered { .. } => {
                "nothing was written here; attach the file again on a machine that has it"
                    .to_owned()
            }
            Self::NotShared { .. } => {
                "set kanban.shared_files to that directory, as on the other machines".to_owned()
            }
            Self::NotInDirectory { .. } => {
                "check that the directory of kanban.shared_files is mounted here and is the one of \
                 the other machines"
                    .to_owned()
            }
            Self::Elsewhere { .. } => {
                "it was attached before files could travel; attach it again there".to_owned()
            }
        }
    }
}
