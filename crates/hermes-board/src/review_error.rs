//! Why the work of a card cannot be shown, commented on or approved.

use std::path::PathBuf;

use hermes_proc::GitError;

use crate::id::TaskId;

/// A review that went no further. Nothing was changed, unless its text says so.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error("{id} has no workspace yet: nobody has worked on it")]
    NotStarted { id: TaskId },
    #[error("the workspace of {id} is gone: {}", path.display())]
    Gone { id: TaskId, path: PathBuf },
    /// The workspace is not the one in which the work was done.
    #[error("the workspace of {id} is not what it was: {} {problem}", path.display())]
    Moved {
        id: TaskId,
        path: PathBuf,
        /// Completes "PATH …".
        problem: String,
    },
    #[error("{} is not inside a git repository, so there is nothing to compare it with", path.display())]
    NoRepository { path: PathBuf },
    #[error("{file} is not part of the changes of {id}")]
    NotChanged { id: TaskId, file: String },
    #[error("{file} has {count} lines on the {side} side, so there is no line {line}")]
    NoSuchLine {
        file: String,
        side: &'static str,
        count: usize,
        line: u32,
    },
    #[error("lines of {file} cannot be commented on: {problem}")]
    NoLines { file: String, problem: String },
    #[error("the diff has more than {} MiB", limit / (1024 * 1024))]
    TooLarge { limit: usize },
    #[error("the work of {id} has changed since it was reviewed")]
    ChangedSince { id: TaskId },
    #[error("the work of {id} cannot be {action}: {problem}")]
    CannotLand {
        id: TaskId,
        /// Completes "cannot be …".
        action: &'static str,
        problem: String,
        hint: String,
    },
    #[error(transparent)]
    Git(#[from] GitError),
}

impl ReviewError {
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotStarted { id } => format!("`hermes kanban why {id}` says what it waits for"),
            Self::Gone { id, .. } => format!(
                "`hermes kanban show {id}` lists what is left of it: summaries, comments, attached \
                 files"
            ),
            Self::Moved { .. } => {
                "look at the directory yourself; nothing in it was read".to_owned()
            }
            Self::NoRepository { .. } => {
                "cards with --workspace worktree, or a directory in a repository, can be reviewed"
                    .to_owned()
            }
            Self::NotChanged { id, .. } => {
                format!("`hermes kanban diff {id} --stat` lists the files")
            }
            Self::NoSuchLine { .. } => "`--side old` counts lines as they were before".to_owned(),
            Self::TooLarge { .. } => {
                "choose files with --file, or look at the worktree yourself".to_owned()
            }
            Self::ChangedSince { id } => {
                format!("look at it again with `hermes kanban review {id}`")
            }
            Self::CannotLand { hint, .. } => hint.clone(),
            Self::Git(GitError::Missing) => "install git".to_owned(),
            Self::NoLines { .. } | Self::Git(_) => return None,
        })
    }

    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::NoSuchLine { .. })
    }

    pub(crate) fn is_missing_part(&self) -> bool {
        matches!(self, Self::Git(GitError::Missing))
    }
}
