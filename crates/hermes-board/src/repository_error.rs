//! Why a card cannot be worked on in its repository, or its work not be pushed there.

use std::path::PathBuf;

use hermes_proc::GitError;

/// What is wrong with a repository or its address.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    #[error("'{shown}' cannot be the repository of a card: {problem}")]
    BadAddress { shown: String, problem: String },
    #[error("the address {shown} contains a name or a password, which everybody would see")]
    Secret { shown: String },
    #[error("a repository can only be given to a card with a worktree of its own")]
    NoWorktree,
    #[error("the repository {address} could not be fetched: {message}")]
    Unreachable { address: String, message: String },
    #[error("the repository {address} has no commit yet")]
    Empty { address: String },
    #[error("{} is in the way: it is not a worktree of {address}", path.display())]
    InTheWay { address: String, path: PathBuf },
    #[error(
        "the branch {branch} has gone on at {address}, and {} has changes that are not committed",
        path.display()
    )]
    Uncommitted {
        branch: String,
        address: String,
        path: PathBuf,
    },
    #[error(
        "the branch {branch} has commits here that {address} does not have, and the other way round"
    )]
    Diverged { branch: String, address: String },
    #[error("the branch {branch} was not pushed to {address}: {message}")]
    Rejected {
        branch: String,
        address: String,
        message: String,
    },
    #[error("{} cannot be pushed: it {problem}", path.display())]
    NotCommitted {
        path: PathBuf,
        /// Completes "it …".
        problem: String,
    },
    #[error("the work is in the repository {address}, not on this machine")]
    MergedThere { address: String },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
}

impl RepositoryError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::BadAddress { .. } => {
                "examples: https://example.org/site.git, git@example.org:site.git".to_owned()
            }
            Self::Secret { .. } => {
                "leave it out: git takes it from the credential helper or the SSH agent of each \
                 machine"
                    .to_owned()
            }
            Self::NoWorktree => "use `--workspace worktree --repo URL`".to_owned(),
            Self::Unreachable { address, .. } => {
                format!("`git ls-remote {address}` must work on this machine without a question")
            }
            Self::Empty { .. } => "push a first commit".to_owned(),
            Self::InTheWay { path, .. } => {
                format!("move {} away if nobody needs it", path.display())
            }
            Self::Uncommitted { path, .. } => format!(
                "commit them in {} and merge, or remove the directory if nobody needs them",
                path.display()
            ),
            Self::Diverged { branch, .. } => format!(
                "merge them in the worktree and push {branch}, never by force"
            ),
            Self::Rejected { .. } => {
                "nothing is lost: the commits are in the worktree; fetch, merge and complete again, \
                 or block the card"
                    .to_owned()
            }
            Self::NotCommitted { path, .. } => format!(
                "commit in {} what belongs to the work, on the card's branch",
                path.display()
            ),
            Self::MergedThere { .. } => {
                "approve with --push or --no-merge, and merge the branch there".to_owned()
            }
            Self::Git(GitError::Missing) => "install git".to_owned(),
            Self::File(error) => return error.hint(),
            Self::Git(_) => return None,
        })
    }

    /// Whether the request itself is malformed.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::BadAddress { .. } | Self::Secret { .. } | Self::NoWorktree
        )
    }

    /// Whether a program or a server that is needed is missing.
    pub(crate) fn is_missing_part(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Git(GitError::Missing)
        )
    }
}
