//! Errors of the board, with hints.

use std::path::PathBuf;

use crate::boards::BoardSlug;
use crate::model::{RunId, TaskId};

/// Result of an operation on a board.
pub type Result<T> = std::result::Result<T, Error>;

/// An operation that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read, made or moved.
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    /// The database could not be used.
    #[error(transparent)]
    Store(hermes_store::Error),
    /// The database contradicts itself. It is left as it is.
    #[error("the board database {} is damaged and was not opened: {detail}", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What was found.
        detail: String,
        /// A copy of the damaged bytes; `None` if it could not be made while others use the file.
        copy: Option<PathBuf>,
    },
    /// The file is not a database at all. It is left as it is.
    #[error(
        "{} is not a database{}; it begins with {first_bytes}",
        path.display(),
        if *.looks_like_tls { " (it looks like encrypted network traffic)" } else { "" }
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// Its first 32 bytes, in hexadecimal.
        first_bytes: String,
        /// Whether it contains a TLS record.
        looks_like_tls: bool,
        /// A copy of the bytes.
        copy: Option<PathBuf>,
    },
    /// A text that is no name of a board.
    #[error(
        "'{shown}' is not a valid board slug: use 1 to 64 lowercase letters, digits, '-' and '_', \
         with a letter or digit first"
    )]
    InvalidSlug {
        /// The text, made harmless.
        shown: String,
    },
    /// A board that does not exist.
    #[error("there is no board '{slug}'")]
    UnknownBoard {
        /// Its name.
        slug: BoardSlug,
    },
    /// The default board can be neither archived nor deleted.
    #[error("the default board cannot be removed")]
    DefaultBoard,
    /// A worker asked for another board than the one it was started for.
    #[error("this worker belongs to board '{own}' and cannot use board '{asked}'")]
    ForeignBoard {
        /// The board asked for.
        asked: BoardSlug,
        /// The worker's own.
        own: BoardSlug,
    },
    /// `board.json` exists and cannot be read, so it is not replaced either.
    #[error("could not read {}: {detail}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// A path that must not depend on where a process runs.
    #[error("{what} must be an absolute path, not '{}'", path.display())]
    RelativePath {
        /// What the path is for.
        what: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// A card that does not exist.
    #[error("there is no card '{}'", crate::shown(id.as_str(), 64))]
    UnknownTask {
        /// Its name.
        id: TaskId,
    },
    /// Parents that do not exist.
    #[error("there is no card {}", names(ids))]
    UnknownParents {
        /// Their names.
        ids: Vec<TaskId>,
    },
    /// The status of the card does not allow the operation.
    #[error("cannot {action} {id}: it is {status}")]
    NotAllowed {
        /// The card.
        id: TaskId,
        /// Verb that completes "cannot … t_1".
        action: &'static str,
        /// Its status, as in the database.
        status: String,
    },
    /// The request comes from an attempt that is over.
    #[error("cannot {action} {id}: attempt {expected} is over{}", now_is(*current))]
    StaleRun {
        /// The card.
        id: TaskId,
        /// Verb that completes "cannot … t_1".
        action: &'static str,
        /// The attempt of the request.
        expected: RunId,
        /// The one in progress.
        current: Option<RunId>,
    },
    /// The card is running.
    #[error("cannot {action} {id}: somebody is working on it ({})", lock.as_deref().unwrap_or("no claim"))]
    InProgress {
        /// The card.
        id: TaskId,
        /// Verb that completes "cannot … t_1".
        action: &'static str,
        /// Who.
        lock: Option<String>,
    },
    /// Parents of the card are not finished.
    #[error("cannot promote {id}: it waits for {}", names(parents))]
    OpenParents {
        /// The card.
        id: TaskId,
        /// The parents.
        parents: Vec<TaskId>,
    },
    /// A card cannot wait for itself.
    #[error("a card cannot depend on itself ({id})")]
    SelfLink {
        /// The card.
        id: TaskId,
    },
    /// A link that would close a cycle.
    #[error("{child} already leads to {parent}: linking them would close a cycle")]
    Cycle {
        /// The parent.
        parent: TaskId,
        /// The child.
        child: TaskId,
    },
    /// Something that must not be blank.
    #[error("{what} cannot be blank")]
    Blank {
        /// What.
        what: &'static str,
    },
    /// An invalid assignee.
    #[error("invalid assignee: '{shown}'")]
    BadAssignee {
        /// The name, made harmless.
        shown: String,
    },
    /// A skill name that would be read as two.
    #[error("a skill name cannot contain a comma: '{name}'")]
    SkillWithComma {
        /// The name.
        name: String,
    },
    /// Toolsets given as skills.
    #[error("these are toolsets, not skills: {}", .names.join(", "))]
    ToolsetsAsSkills {
        /// Their names.
        names: Vec<String>,
    },
    /// A branch without a worktree.
    #[error("a branch can only be given to a card with a worktree")]
    BranchWithoutWorktree,
    /// Cards that a worker claims to have created, and did not.
    #[error(
        "{id} is not completed: its worker did not create the cards {}",
        names(phantom)
    )]
    PhantomCards {
        /// The card.
        id: TaskId,
        /// The cards it did not create.
        phantom: Vec<TaskId>,
    },
    /// A deliverable that could not be copied.
    #[error("{id} is not completed: the artifact {} {problem}", path.display())]
    Artifact {
        /// The card.
        id: TaskId,
        /// The deliverable.
        path: PathBuf,
        /// Completes "the artifact PATH …".
        problem: String,
    },
    /// A file that is too large to be attached.
    #[error("{name} has more than {} MiB and cannot be attached", limit / (1024 * 1024))]
    AttachmentTooLarge {
        /// Its name.
        name: String,
        /// Most bytes.
        limit: u64,
    },
    /// A subscription that does not exist.
    #[error("this chat does not follow {id}")]
    UnknownSubscription {
        /// The card.
        id: TaskId,
    },
    /// Checks of the card are being run by another process.
    #[error("cannot complete {id}: its checks are being run by {checker}")]
    ChecksInProgress {
        /// The card.
        id: TaskId,
        /// The process.
        checker: String,
    },
    /// A session of checks that is over or never began.
    #[error("the check session {session} is over")]
    ChecksOver {
        /// Its number.
        session: i64,
    },
    /// Anything else that is wrong with a request.
    #[error("{0}")]
    BadRequest(String),
}

impl From<hermes_store::Error> for Error {
    fn from(error: hermes_store::Error) -> Self {
        match error {
            hermes_store::Error::Corrupt { path, detail } => Self::Damaged {
                path,
                detail,
                copy: None,
            },
            hermes_store::Error::File(error) => Self::File(error),
            other => Self::Store(other),
        }
    }
}

impl Error {
    pub(crate) fn unsafe_task_id(id: &TaskId) -> Self {
        let shown = crate::shown(id.as_str(), 64);
        Self::BadRequest(format!(
            "the id of card '{shown}' cannot be used as a file name"
        ))
    }

    pub(crate) fn bad_attachment_name(name: &str) -> Self {
        let shown = crate::shown(name, 200);
        Self::BadRequest(format!("invalid attachment name: '{shown}'"))
    }

    pub(crate) fn unknown_attachment(number: i64) -> Self {
        Self::BadRequest(format!("there is no attachment {number}"))
    }

    /// Refusal because of the status of a card.
    pub fn not_allowed(id: &TaskId, action: &'static str, status: &str) -> Self {
        Self::NotAllowed {
            id: id.clone(),
            action,
            status: status.to_owned(),
        }
    }

    /// A card that does not exist.
    pub fn unknown(id: &TaskId) -> Self {
        Self::UnknownTask { id: id.clone() }
    }

    /// What the user can do next, if known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Damaged { copy, .. } | Self::NotADatabase { copy, .. } => Some(match copy {
                Some(copy) => format!(
                    "the file is untouched and a copy is kept as {}; replace it with a backup",
                    copy.display()
                ),
                None => "the file is untouched; replace it with a backup".to_owned(),
            }),
            Self::InvalidSlug { .. } => Some("examples of slugs: 'website', 'team-2'".to_owned()),
            Self::UnknownBoard { slug } => Some(format!(
                "`hermes kanban boards create {slug}` creates it; `hermes kanban boards` lists the \
                 existing ones"
            )),
            Self::DefaultBoard => Some("archive or delete its cards instead".to_owned()),
            Self::ForeignBoard { own, .. } => Some(format!(
                "leave the board out, or name '{own}'; work for another board belongs on a card there"
            )),
            Self::Metadata { path, .. } => Some(format!("repair or remove {}", path.display())),
            Self::UnknownTask { .. } | Self::UnknownParents { .. } => {
                Some("`hermes kanban list` shows the cards of this board".to_owned())
            }
            Self::InProgress { id, .. } => Some(format!(
                "wait for it, or reclaim it with `hermes kanban reclaim {id}`"
            )),
            Self::OpenParents { .. } => Some("--force promotes it anyway".to_owned()),
            Self::StaleRun { .. } => Some(
                "the card was reclaimed from this worker; stop, and leave it to the next one"
                    .to_owned(),
            ),
            Self::ToolsetsAsSkills { .. } => {
                Some("toolsets are set in the profile's configuration, under `toolsets`".to_owned())
            }
            Self::SkillWithComma { .. } => Some("give each skill separately".to_owned()),
            Self::PhantomCards { .. } => Some(
                "name only cards whose ids were returned when they were created, or none"
                    .to_owned(),
            ),
            Self::Artifact { .. } => {
                Some("put the file into the workspace, or leave it out of the list".to_owned())
            }
            Self::BranchWithoutWorktree => Some("add `--workspace worktree`".to_owned()),
            Self::ChecksInProgress { .. } => {
                Some("wait for them; the card will show their outcome".to_owned())
            }
            Self::BadAssignee { .. } => Some(
                "a name has no slashes or control characters and does not begin with '-' or '.'"
                    .to_owned(),
            ),
            Self::RelativePath { .. }
            | Self::NotAllowed { .. }
            | Self::SelfLink { .. }
            | Self::Cycle { .. }
            | Self::Blank { .. }
            | Self::AttachmentTooLarge { .. }
            | Self::UnknownSubscription { .. }
            | Self::ChecksOver { .. }
            | Self::BadRequest(_) => None,
        }
    }

    /// Whether the request itself is malformed: commands end with the code for usage then.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::InvalidSlug { .. }
                | Self::ForeignBoard { .. }
                | Self::RelativePath { .. }
                | Self::BranchWithoutWorktree
        )
    }

    /// Whether the disk is full, or what the user may use of it.
    pub fn is_storage_full(&self) -> bool {
        match self {
            Self::File(error) => error.is_storage_full(),
            Self::Store(error) => error.is_storage_full(),
            _ => false,
        }
    }

    /// Whether the file is at fault, not the request.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::NotADatabase { .. })
            || matches!(self, Self::Store(hermes_store::Error::NotADatabase { .. }))
    }
}

fn names(ids: &[TaskId]) -> String {
    let shown: Vec<String> = ids.iter().map(|id| crate::shown(id.as_str(), 64)).collect();
    shown.join(", ")
}

fn now_is(current: Option<RunId>) -> String {
    match current {
        Some(current) => format!(", attempt {current} is in progress"),
        None => String::new(),
    }
}
