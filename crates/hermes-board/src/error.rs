//! What did not happen on a board, to which thing, and what to do about it.

use std::path::PathBuf;

use crate::boards::BoardSlug;
use crate::model::{RunId, Status, TaskId};

/// Result of an operation on a board.
pub type Result<T> = std::result::Result<T, Error>;

/// An operation that did not happen.
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
        /// Whether a TLS record stands in it.
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
    /// A card whose name cannot be part of a path.
    #[error("the card '{shown}' has a name that cannot be used for files")]
    UnsafeTaskId {
        /// The name, made harmless.
        shown: String,
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
    /// The card stands where this cannot be done to it.
    #[error("cannot {action} {id}: it is {status}")]
    NotAllowed {
        /// The card.
        id: TaskId,
        /// Verb that completes "cannot … t_1".
        action: &'static str,
        /// Where it stands, in the word of the database.
        status: String,
    },
    /// The attempt that spoke is not the one in progress.
    #[error("cannot {action} {id}: attempt {expected} is over{}", now_is(*current))]
    StaleRun {
        /// The card.
        id: TaskId,
        /// Verb that completes "cannot … t_1".
        action: &'static str,
        /// The attempt that spoke.
        expected: RunId,
        /// The one in progress.
        current: Option<RunId>,
    },
    /// Somebody works on the card.
    #[error("cannot {action} {id}: somebody works on it ({})", lock.as_deref().unwrap_or("no claim"))]
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
    /// A link that would make two cards wait for each other.
    #[error("{child} already leads to {parent}: linking them would close a cycle")]
    Cycle {
        /// The card that is to be waited for.
        parent: TaskId,
        /// The card that is to wait.
        child: TaskId,
    },
    /// Something that must not be blank.
    #[error("{what} cannot be blank")]
    Blank {
        /// What.
        what: &'static str,
    },
    /// A name that a card cannot be given to.
    #[error("'{shown}' cannot be the assignee of a card")]
    BadAssignee {
        /// The name, made harmless.
        shown: String,
    },
    /// One name that would be two.
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
    /// Cards a worker says it made, and did not.
    #[error(
        "{id} is not completed: it names cards that its worker did not create: {}",
        names(phantom)
    )]
    PhantomCards {
        /// The card.
        id: TaskId,
        /// Those it did not make.
        phantom: Vec<TaskId>,
    },
    /// A deliverable that could not be kept.
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
    /// A name that an attachment cannot have.
    #[error("'{shown}' cannot be the name of an attachment")]
    BadAttachmentName {
        /// The name, made harmless.
        shown: String,
    },
    /// An attachment that does not exist.
    #[error("there is no attachment {id}")]
    UnknownAttachment {
        /// Its number.
        id: i64,
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
    /// A round of checks that is over or was never begun.
    #[error("the round {session} of checks is over")]
    ChecksOver {
        /// Its number.
        session: i64,
    },
    /// Cards that are to be made in one go wait for each other.
    #[error("the cards of the plan wait for each other in a circle")]
    PlanCycle,
    /// A part of a request that makes no sense.
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
    /// Refusal because of where a card stands.
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

    /// What the user can do next, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Damaged { copy, .. } | Self::NotADatabase { copy, .. } => Some(match copy {
                Some(copy) => format!(
                    "the file is untouched and a copy is kept as {}; restore a backup in its place",
                    copy.display()
                ),
                None => "the file is untouched; restore a backup in its place".to_owned(),
            }),
            Self::InvalidSlug { .. } => {
                Some("a slug such as 'website' or 'team-2' works".to_owned())
            }
            Self::UnknownBoard { slug } => Some(format!(
                "`hermes kanban boards create {slug}` makes it; `hermes kanban boards` lists those \
                 that exist"
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
                "wait for it, or take it back with `hermes kanban reclaim {id}`"
            )),
            Self::OpenParents { .. } => Some("--force promotes it all the same".to_owned()),
            Self::StaleRun { .. } => Some(
                "the card was taken back from this worker; stop, and leave it to the next one"
                    .to_owned(),
            ),
            Self::ToolsetsAsSkills { .. } => {
                Some("toolsets are set in the profile's configuration, under `toolsets`".to_owned())
            }
            Self::SkillWithComma { .. } => Some("give each skill by itself".to_owned()),
            Self::PhantomCards { .. } => {
                Some("name only cards whose names came back from creating them, or none".to_owned())
            }
            Self::Artifact { .. } => {
                Some("put the file into the workspace, or leave it out of the list".to_owned())
            }
            Self::BranchWithoutWorktree => Some("add `--workspace worktree`".to_owned()),
            Self::ChecksInProgress { .. } => {
                Some("wait for them; their outcome will show on the card".to_owned())
            }
            Self::BadAssignee { .. } => Some(
                "a name has no slashes or control characters and does not begin with '-' or '.'"
                    .to_owned(),
            ),
            Self::RelativePath { .. }
            | Self::UnsafeTaskId { .. }
            | Self::NotAllowed { .. }
            | Self::SelfLink { .. }
            | Self::Cycle { .. }
            | Self::Blank { .. }
            | Self::AttachmentTooLarge { .. }
            | Self::BadAttachmentName { .. }
            | Self::UnknownAttachment { .. }
            | Self::UnknownSubscription { .. }
            | Self::ChecksOver { .. }
            | Self::PlanCycle
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

/// The word of a status, for messages.
impl From<Status> for String {
    fn from(status: Status) -> Self {
        status.as_str().to_owned()
    }
}
