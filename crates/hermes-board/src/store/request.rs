//! Requests to a board.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{
    Assignee, BlockKind, Checker, Object, RunId, SkillList, Status, TaskId, WorkerIdentity,
    WorkspaceKind,
};

/// A card to be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTask {
    /// One line.
    pub title: String,
    /// The opening post.
    pub body: Option<String>,
    /// Assignee.
    pub assignee: Option<Assignee>,
    /// Who creates the card.
    pub created_by: Option<String>,
    /// Kind of workspace.
    pub workspace: WorkspaceKind,
    /// Directory, for the kinds of workspace that take one.
    pub workspace_path: Option<String>,
    /// Branch of a worktree.
    pub branch_name: Option<String>,
    /// Project of the card.
    pub project: Option<ProjectLink>,
    /// Namespace inside the board.
    pub tenant: Option<String>,
    /// Higher goes first.
    pub priority: i64,
    /// Cards that must be finished first.
    pub parents: Vec<TaskId>,
    /// Initial status.
    pub start: StartIn,
    /// A second request with the same key returns the first card.
    pub idempotency_key: Option<String>,
    /// Time limit of an attempt.
    pub max_runtime_seconds: Option<i64>,
    /// Skills of the worker.
    pub skills: Option<SkillList>,
    /// Failures after which the card is blocked.
    pub max_retries: Option<i64>,
    /// Model of the worker.
    pub model_override: Option<String>,
    /// Whether the worker goes on until a judge finds the goal reached.
    pub goal_mode: bool,
    /// Turn limit of such a worker.
    pub goal_max_turns: Option<i64>,
    /// Session of the agent that creates the card.
    pub session_id: Option<String>,
    /// Acceptance checks, in order.
    pub checks: Vec<String>,
}

impl NewTask {
    /// A card with nothing but a title.
    pub fn titled(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }
}

/// Initial status of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartIn {
    /// Ready, or waiting for its parents.
    #[default]
    Work,
    /// In triage.
    Triage,
    /// Blocked until somebody unblocks it.
    Blocked,
    /// Scheduled for this time.
    Scheduled(i64),
}

/// A project, as far as cards are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectLink {
    /// Id in the database of projects.
    pub id: String,
    /// Short name, the first part of branch names.
    pub slug: String,
    /// Repository.
    pub repository: Option<PathBuf>,
}

/// A claim on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The card.
    pub task: TaskId,
    /// Who claims, `<host>:<pid>`.
    pub lock: String,
    /// How long the claim lasts without a heartbeat; at least a second.
    pub ttl_seconds: i64,
    /// The queue of the card.
    pub from: ClaimFrom,
    /// The process that starts a worker next; `None` for a claim by hand.
    pub dispatcher: Option<WorkerIdentity>,
}

/// Queues of cards that can be claimed.
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

/// A claim as a dispatcher saw it: the condition of its next write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSeen {
    /// Who held the claim.
    pub lock: Option<String>,
    /// When the claim expires.
    pub expires: Option<i64>,
    /// The worker.
    pub pid: Option<i64>,
    /// The attempt.
    pub run: Option<RunId>,
}

/// A completion.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The attempt that completes the card; it must be the one in progress.
    pub expected_run: Option<RunId>,
    /// Short result.
    pub result: Option<String>,
    /// Summary for whoever goes on.
    pub summary: Option<String>,
    /// Facts for machines.
    pub metadata: Option<Object>,
    /// Cards the worker claims to have created.
    pub created_cards: Vec<TaskId>,
    /// Files copied for this card, to be recorded with the completion.
    #[serde(skip)]
    pub attachments: Vec<NewAttachment>,
}

impl Completion {
    /// The deliverables that the metadata lists.
    pub(crate) fn artifacts(&self) -> Vec<String> {
        let metadata = self.metadata.as_ref();
        let listed = metadata.and_then(|metadata| metadata.get("artifacts")?.as_array());
        let paths = listed.into_iter().flatten().filter_map(Value::as_str);
        paths
            .map(|path| path.trim().to_owned())
            .filter(|path| !path.is_empty())
            .collect()
    }

    /// The summary, else the result; blank texts count as none.
    pub fn handoff(&self) -> Option<&str> {
        let texts = [self.summary.as_deref(), self.result.as_deref()];
        let mut texts = texts.into_iter().flatten();
        texts.find(|text| !text.trim().is_empty())
    }
}

/// A file in the attachments directory of a card that is to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttachment {
    /// Display name.
    pub filename: String,
    /// Path of the file.
    pub stored_path: PathBuf,
    /// Kind of content.
    pub content_type: Option<String>,
    /// Bytes.
    pub size: u64,
    /// Who attaches it.
    pub uploaded_by: Option<String>,
}

/// Blocking a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRequest {
    /// The card.
    pub task: TaskId,
    /// Reason.
    pub reason: Option<String>,
    /// Kind of reason.
    pub kind: Option<BlockKind>,
    /// The attempt that asks; it must be the one in progress.
    pub expected_run: Option<RunId>,
}

/// Scheduling a card for later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRequest {
    /// The card.
    pub task: TaskId,
    /// Reason.
    pub reason: Option<String>,
    /// When the card wakes; without a time, somebody has to unblock it.
    pub at: Option<i64>,
    /// The attempt that asks; it must be the one in progress.
    pub expected_run: Option<RunId>,
}

/// Promoting a card by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromoteRequest {
    /// The card.
    pub task: TaskId,
    /// Who.
    pub actor: String,
    /// Reason.
    pub reason: Option<String>,
    /// Whether to promote despite open parents.
    pub force: bool,
    /// Only check whether the card can be promoted.
    pub dry_run: bool,
}

/// When failures block a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailurePolicy {
    /// Failures after which a card without a limit of its own is blocked.
    pub limit: i64,
    /// Many cards fail alike: the first failure blocks.
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
    /// The default limit.
    pub const DEFAULT_LIMIT: i64 = 2;
    /// Protocol violations in a row (exit code 0, card neither completed nor blocked) after which a
    /// card without a limit of its own is blocked.
    pub const VIOLATION_LIMIT: i64 = 3;

    /// A policy with this limit.
    pub fn with_limit(limit: i64) -> Self {
        Self {
            limit,
            systemic: false,
        }
    }
}

/// A worker that exceeded its time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    /// The worker.
    pub pid: i64,
    /// How long it ran.
    pub elapsed_seconds: i64,
    /// The limit.
    pub limit_seconds: i64,
    /// Whether SIGKILL was needed.
    pub sigkill: bool,
}

/// A worker without heartbeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// How long it ran.
    pub elapsed_seconds: i64,
    /// The last heartbeat.
    pub last_heartbeat_at: Option<i64>,
    /// The age of the last heartbeat.
    pub heartbeat_age_seconds: Option<i64>,
    /// The configured limit.
    pub timeout_seconds: i64,
}

/// A card that the respawn guard holds back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// The card.
    pub task: TaskId,
    /// Reason.
    pub reason: &'static str,
}

/// The workspace of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedWorkspace {
    /// The directory.
    pub path: PathBuf,
    /// The branch, for a worktree.
    pub branch: Option<String>,
}

/// Who runs the checks of a card.
pub struct CheckStart<'a> {
    /// This process.
    pub checker: Checker,
    /// How long a claim made for the checks lasts.
    pub ttl_seconds: i64,
    /// Whether the process of an earlier session is gone.
    pub is_gone: &'a dyn Fn(&Checker) -> bool,
}
