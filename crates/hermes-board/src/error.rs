//! Errors of the board, with hints.

use std::path::PathBuf;

use crate::id::{RunId, TaskId};

/// Result of an operation on a board.
pub type Result<T> = std::result::Result<T, Error>;

/// An operation that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    #[error(transparent)]
    Store(hermes_store::Error),
    /// The server that the board is on, or the way to it.
    #[error(transparent)]
    Server(hermes_board_pg::Error),
    /// Somebody has moved the board since it was opened, or from another machine.
    #[error("this board has moved to {to}")]
    Moved { to: String },
    /// A board that is not moved.
    #[error(transparent)]
    Move(Box<crate::move_error::MoveError>),
    /// The database contradicts itself. It is left as it is.
    #[error("the board database {} is damaged and was not opened: {detail}", path.display())]
    Damaged {
        path: PathBuf,
        detail: String,
        /// A copy of the damaged bytes; `None` if it could not be made while others use the file.
        copy: Option<PathBuf>,
    },
    /// A value of a kind that this program never stores there.
    #[error("the board database holds an unexpected value (column {column} of a result)")]
    UnexpectedValue { column: usize },
    /// The file is not a database at all. It is left as it is.
    #[error(
        "{} is not a database{}; it begins with {first_bytes}",
        path.display(),
        if *.looks_like_tls { " (it looks like encrypted network traffic)" } else { "" }
    )]
    NotADatabase {
        path: PathBuf,
        /// Its first 32 bytes, in hexadecimal.
        first_bytes: String,
        looks_like_tls: bool,
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
    #[error("no such board: '{slug}'")]
    UnknownBoard { slug: String },
    #[error("the default board cannot be removed")]
    DefaultBoard,
    #[error("this worker belongs to board '{own}' and cannot use board '{asked}'")]
    ForeignBoard { asked: String, own: String },
    #[error("this worker belongs to card {own} and cannot {action} card {asked}")]
    ForeignCard {
        own: TaskId,
        asked: TaskId,
        /// Completes "cannot … card t_1".
        action: &'static str,
    },
    #[error("this worker belongs to card {own} and cannot {action}")]
    NotForWorkers {
        own: TaskId,
        /// Completes "cannot …".
        action: &'static str,
    },
    #[error("an agent cannot {action}")]
    NotForAgents {
        /// Completes "an agent cannot …".
        action: String,
    },
    /// `board.json` exists and cannot be read, so it is not replaced either.
    #[error("could not read {}: {detail}", path.display())]
    Metadata { path: PathBuf, detail: String },
    #[error("{what} must be an absolute path, not '{}'", path.display())]
    RelativePath { what: &'static str, path: PathBuf },
    #[error("no such card: '{}'", crate::shown(id.as_str(), 64))]
    UnknownTask { id: TaskId },
    #[error("no such card: {}", names(ids))]
    UnknownParents { ids: Vec<TaskId> },
    #[error("cannot {action} {id}: it is {status}")]
    NotAllowed {
        id: TaskId,
        /// Verb that completes "cannot … t_1".
        action: &'static str,
        status: String,
    },
    #[error("cannot {action} {id}: attempt {expected} is over{}", now_is(*current))]
    StaleRun {
        id: TaskId,
        action: &'static str,
        expected: RunId,
        current: Option<RunId>,
    },
    #[error("cannot {action} {id}: somebody is working on it ({})", lock.as_deref().unwrap_or("no claim"))]
    InProgress {
        id: TaskId,
        action: &'static str,
        lock: Option<String>,
    },
    #[error("cannot promote {id}: it waits for {}", names(parents))]
    OpenParents { id: TaskId, parents: Vec<TaskId> },
    #[error("a card cannot depend on itself ({id})")]
    SelfLink { id: TaskId },
    #[error("{child} already leads to {parent}: linking them would close a cycle")]
    Cycle { parent: TaskId, child: TaskId },
    #[error("{what} cannot be blank")]
    Blank { what: &'static str },
    #[error("invalid assignee: '{shown}'")]
    BadAssignee { shown: String },
    #[error("a skill name cannot contain a comma: '{name}'")]
    SkillWithComma { name: String },
    #[error("these are toolsets, not skills: {}", .names.join(", "))]
    ToolsetsAsSkills { names: Vec<String> },
    #[error("a branch can only be given to a card with a worktree")]
    BranchWithoutWorktree,
    /// Cards that a worker claims to have created, and did not.
    #[error(
        "{id} is not completed: its worker did not create the cards {}",
        names(phantom)
    )]
    PhantomCards { id: TaskId, phantom: Vec<TaskId> },
    #[error("{id} is not completed: the artifact {} {problem}", path.display())]
    Artifact {
        id: TaskId,
        path: PathBuf,
        /// Completes "the artifact PATH …".
        problem: String,
    },
    #[error("{name} has more than {} MiB and cannot be attached", limit / (1024 * 1024))]
    AttachmentTooLarge {
        name: String,
        /// Most bytes.
        limit: u64,
    },
    #[error("this chat does not follow {id}")]
    UnknownSubscription { id: TaskId },
    #[error("cannot complete {id}: its checks are being run by {checker}")]
    ChecksInProgress { id: TaskId, checker: String },
    /// A session of checks that is over or never began.
    #[error("the check session {session} is over")]
    ChecksOver { session: i64 },
    #[error(transparent)]
    Workspace(#[from] crate::workspace_refusal::WorkspaceRefusal),
    #[error(transparent)]
    Transfer(#[from] crate::transfer_error::TransferError),
    #[error(transparent)]
    Repository(#[from] crate::repository_error::RepositoryError),
    #[error(transparent)]
    Review(#[from] crate::review_error::ReviewError),
    #[error(transparent)]
    Host(#[from] crate::host_error::HostError),
    #[error("{id} has no review comment {number}")]
    UnknownReviewComment { id: TaskId, number: u32 },
    #[error("there is nothing to send {id} back for: it has no open review comment")]
    NothingToChange { id: TaskId },
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

impl From<hermes_board_pg::Error> for Error {
    fn from(error: hermes_board_pg::Error) -> Self {
        match error {
            hermes_board_pg::Error::MovedAway { note, .. } => Self::moved_by(&note),
            other => Self::Server(other),
        }
    }
}

impl From<crate::move_error::MoveError> for Error {
    fn from(error: crate::move_error::MoveError) -> Self {
        Self::Move(Box::new(error))
    }
}

impl Error {
    /// The error about a board that has moved away, from what was noted on its server.
    pub(crate) fn moved_by(note: &str) -> Self {
        let note: serde_json::Value = serde_json::from_str(note).unwrap_or_default();
        let to = note["shown"].as_str().unwrap_or("another place");
        Self::Moved { to: to.to_owned() }
    }

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
        Self::BadRequest(format!("no such attachment: {number}"))
    }

    pub(crate) fn unknown_board(slug: &str) -> Self {
        Self::UnknownBoard {
            slug: slug.to_owned(),
        }
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
            Self::Server(error) => error.hint(),
            Self::Moved { .. } => Some(
                "nothing was changed; run the command again, or point `kanban.database` there if the \
                 board was moved from another machine"
                    .to_owned(),
            ),
            Self::Move(error) => Some(error.hint()),
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
                "leave the board out, or name '{own}'; work for another board belongs on a card \
                 there"
            )),
            Self::ForeignCard { asked, .. } => Some(format!(
                "comment on {asked} for what matters there, or create a card for new work"
            )),
            Self::NotForWorkers { .. } => Some(
                "workers manage their own card only; say in a comment what is needed".to_owned(),
            ),
            Self::NotForAgents { .. } => {
                Some("leave it to a person, who does it outside of an agent's shell".to_owned())
            }
            Self::Workspace(refusal) => Some(refusal.hint().to_owned()),
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
            Self::Transfer(error) => Some(error.hint()),
            Self::Repository(error) => error.hint(),
            Self::Review(error) => error.hint(),
            Self::Host(error) => Some(error.hint()),
            Self::UnknownReviewComment { id, .. } => Some(format!(
                "`hermes kanban review list {id}` shows the comments"
            )),
            Self::NothingToChange { id } => Some(format!(
                "say what to change: `hermes kanban review request-changes {id} TEXT`, or comment on \
                 lines with `hermes kanban review comment`"
            )),
            Self::RelativePath { .. }
            | Self::UnexpectedValue { .. }
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
        ) || matches!(self, Self::Review(error) if error.is_usage())
            || matches!(self, Self::Host(error) if error.is_usage())
            || matches!(self, Self::Move(error) if error.is_usage())
            || matches!(self, Self::Repository(error) if error.is_usage())
    }

    /// Whether the disk is full, or what the user may use of it.
    pub fn is_storage_full(&self) -> bool {
        match self {
            Self::File(error) => error.is_storage_full(),
            Self::Store(error) => error.is_storage_full(),
            _ => false,
        }
    }

    /// Whether a program or a server that is needed is missing.
    pub fn is_missing_part(&self) -> bool {
        match self {
            Self::Review(error) => error.is_missing_part(),
            Self::Repository(error) => error.is_missing_part(),
            Self::Server(error) => error.is_outside(),
            _ => false,
        }
    }

    /// Whether the answer of a server is missing, so that nobody knows whether it has done it.
    pub fn is_answer_lost(&self) -> bool {
        matches!(self, Self::Server(error) if error.is_lost())
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
