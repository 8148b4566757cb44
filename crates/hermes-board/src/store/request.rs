//! What can be asked of a board. Everything is checked before the board is touched, except what
//! only the board knows.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::{
    Assignee, BlockKind, Checker, Object, RunId, SkillList, Status, TaskId, WorkspaceKind,
};

/// A card to be filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// One line.
    pub title: String,
    /// The opening post.
    pub body: Option<String>,
    /// Whom it is given to.
    pub assignee: Option<Assignee>,
    /// Who files it.
    pub created_by: Option<String>,
    /// Where it is worked on.
    pub workspace: WorkspaceKind,
    /// Directory, for the kinds that take one.
    pub workspace_path: Option<String>,
    /// Branch of a worktree.
    pub branch_name: Option<String>,
    /// Project it belongs to.
    pub project: Option<ProjectLink>,
    /// Namespace inside the board.
    pub tenant: Option<String>,
    /// Higher goes first.
    pub priority: i64,
    /// Cards it waits for.
    pub parents: Vec<TaskId>,
    /// Where it starts.
    pub start: StartIn,
    /// The same key again gives the card that has it.
    pub idempotency_key: Option<String>,
    /// Longest time of an attempt.
    pub max_runtime_seconds: Option<i64>,
    /// Skills its worker loads.
    pub skills: Option<SkillList>,
    /// Failures after which it is blocked.
    pub max_retries: Option<i64>,
    /// Model for its worker.
    pub model_override: Option<String>,
    /// Whether its worker goes on until a judge is satisfied.
    pub goal_mode: bool,
    /// Most turns of such a worker.
    pub goal_max_turns: Option<i64>,
    /// Session of the agent that files it.
    pub session_id: Option<String>,
    /// Commands that must pass before it counts as done, in order.
    pub checks: Vec<String>,
}

impl NewTask {
    /// A card with nothing but a title.
    pub fn titled(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            body: None,
            assignee: None,
            created_by: None,
            workspace: WorkspaceKind::Scratch,
            workspace_path: None,
            branch_name: None,
            project: None,
            tenant: None,
            priority: 0,
            parents: Vec::new(),
            start: StartIn::Work,
            idempotency_key: None,
            max_runtime_seconds: None,
            skills: None,
            max_retries: None,
            model_override: None,
            goal_mode: false,
            goal_max_turns: None,
            session_id: None,
            checks: Vec::new(),
        }
    }
}

/// Where a new card starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartIn {
    /// Ready, or waiting for its parents.
    #[default]
    Work,
    /// Needs to be specified first.
    Triage,
    /// Held until somebody unblocks it.
    Blocked,
    /// Parked until this moment.
    Scheduled(i64),
}

/// A project, as far as cards are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectLink {
    /// Its name in the database of projects.
    pub id: String,
    /// Its short name, the first part of branches.
    pub slug: String,
    /// Its repository.
    pub repository: Option<PathBuf>,
}

/// A claim on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The card.
    pub task: TaskId,
    /// Who claims, `<host>:<pid>`.
    pub lock: String,
    /// How long the claim lasts without a sign of life; at least a second.
    pub ttl_seconds: i64,
    /// Which queue the card is taken from.
    pub from: ClaimFrom,
}

/// The queues workers are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimFrom {
    /// Cards to be worked on.
    Ready,
    /// Cards to be reviewed.
    Review,
}

impl ClaimFrom {
    /// The status of cards in this queue.
    pub const fn status(self) -> Status {
        match self {
            Self::Ready => Status::Ready,
            Self::Review => Status::Review,
        }
    }
}

/// A claim as a dispatcher saw it. What it then does holds only if nothing of this has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSeen {
    /// Who held it.
    pub lock: Option<String>,
    /// When it ended.
    pub expires: Option<i64>,
    /// The worker.
    pub pid: Option<i64>,
    /// The attempt.
    pub run: Option<RunId>,
}

/// A completion.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The attempt that speaks; it must be the one in progress.
    pub expected_run: Option<RunId>,
    /// Short result.
    pub result: Option<String>,
    /// What is handed over.
    pub summary: Option<String>,
    /// Facts for machines.
    pub metadata: Option<Object>,
    /// Cards the worker says it created.
    pub created_cards: Vec<TaskId>,
    /// Files already kept for this card, to be recorded with the completion.
    #[serde(skip)]
    pub attachments: Vec<NewAttachment>,
}

impl Completion {
    /// What is handed over, blanks counting as nothing.
    pub fn handoff(&self) -> Option<&str> {
        let filled =
            |text: &'_ Option<String>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
        if filled(&self.summary) {
            self.summary.as_deref()
        } else if filled(&self.result) {
            self.result.as_deref()
        } else {
            None
        }
    }
}

/// A file that lies in the attachments of a card already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttachment {
    /// Name for people.
    pub filename: String,
    /// Where the bytes are.
    pub stored_path: PathBuf,
    /// Kind of content.
    pub content_type: Option<String>,
    /// Bytes.
    pub size: u64,
    /// Who attaches it.
    pub uploaded_by: Option<String>,
}

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRequest {
    /// The card.
    pub task: TaskId,
    /// Why, in words.
    pub reason: Option<String>,
    /// Why, as a kind.
    pub kind: Option<BlockKind>,
    /// The attempt that speaks.
    pub expected_run: Option<RunId>,
}

/// Parking a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRequest {
    /// The card.
    pub task: TaskId,
    /// Why.
    pub reason: Option<String>,
    /// Until when; without it somebody has to unblock the card.
    pub at: Option<i64>,
    /// The attempt that speaks.
    pub expected_run: Option<RunId>,
}

/// Moving a card to ready by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromoteRequest {
    /// The card.
    pub task: TaskId,
    /// Who.
    pub actor: String,
    /// Why.
    pub reason: Option<String>,
    /// Whether open parents are no obstacle.
    pub force: bool,
    /// Only say whether it would work.
    pub dry_run: bool,
}

/// How failures are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailurePolicy {
    /// Failures after which a card without a number of its own is blocked.
    pub limit: i64,
    /// Many cards fail alike: the first failure is enough.
    pub systemic: bool,
}

impl Default for FailurePolicy {
    fn default() -> Self {
        Self {
            limit: Self::DEFAULT_LIMIT,
            systemic: false,
        }
    }
}

impl FailurePolicy {
    /// The limit where nothing else is configured.
    pub const DEFAULT_LIMIT: i64 = 2;
    /// Attempts that end without a word before a card without a number of its own is blocked.
    pub const VIOLATION_LIMIT: i64 = 3;

    /// The usual policy with this limit.
    pub fn with_limit(limit: i64) -> Self {
        Self {
            limit,
            systemic: false,
        }
    }
}

/// A worker that took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    /// The worker.
    pub pid: i64,
    /// How long it ran.
    pub elapsed_seconds: i64,
    /// How long it might.
    pub limit_seconds: i64,
    /// Whether ending it took SIGKILL.
    pub sigkill: bool,
}

/// A worker without a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// How long it ran.
    pub elapsed_seconds: i64,
    /// Its last sign of life.
    pub last_heartbeat_at: Option<i64>,
    /// How long ago that was.
    pub heartbeat_age_seconds: Option<i64>,
    /// The configured patience.
    pub timeout_seconds: i64,
}

/// A card that the guard against hasty repetition holds back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// The card.
    pub task: TaskId,
    /// Why.
    pub reason: &'static str,
}

/// Where a worker is about to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedWorkspace {
    /// The directory.
    pub path: PathBuf,
    /// The branch, for a worktree.
    pub branch: Option<String>,
}

/// Who runs the checks of a card, and how to tell that an earlier one is gone.
pub struct CheckStart<'a> {
    /// This process.
    pub checker: Checker,
    /// How long its claim lasts if the card had none.
    pub ttl_seconds: i64,
    /// Whether a process that began earlier is gone.
    pub is_gone: &'a dyn Fn(&Checker) -> bool,
}
