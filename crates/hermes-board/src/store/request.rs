//! Requests to a board.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::{
    Approval, Assignee, BlockKind, Checker, HostRef, NewCheck, Object, Obstacle, OnApprove,
    Placement, RunId, SkillList, Status, TaskId, WorkBase, WorkerExit, WorkerIdentity,
    WorkspaceKind,
};

/// The limit on cards in progress per host, in the configuration.
pub(crate) const HOST_CAP: &str = "max_in_progress_per_host";
/// The limit on cards in progress per profile, in the configuration.
const PROFILE_CAP: &str = "max_in_progress_per_profile";

/// A card to be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTask {
    pub title: String,
    pub body: Option<String>,
    pub assignee: Option<Assignee>,
    pub created_by: Option<String>,
    pub workspace: WorkspaceKind,
    /// Directory, for the kinds of workspace that take one.
    pub workspace_path: Option<String>,
    pub branch_name: Option<String>,
    pub project: Option<ProjectLink>,
    pub tenant: Option<String>,
    pub priority: i64,
    /// Cards that must be finished first.
    pub parents: Vec<TaskId>,
    pub start: StartIn,
    /// A second request with the same key returns the first card.
    pub idempotency_key: Option<String>,
    pub max_runtime_seconds: Option<i64>,
    pub skills: Option<SkillList>,
    pub max_retries: Option<i64>,
    pub model_override: Option<String>,
    pub goal_mode: bool,
    pub goal_max_turns: Option<i64>,
    /// `on` or `off`, instead of what the settings say.
    pub sandbox: Option<String>,
    /// For a card that an agent creates: see [`crate::model::Task::filed_within`].
    pub filed_within: Option<String>,
    /// For a worktree: the address that it is cloned from and pushed to.
    pub repository: Option<String>,
    pub session_id: Option<String>,
    pub checks: Vec<NewCheck>,
    /// What becomes of its work once that is approved, instead of what the board says.
    pub on_approve: Option<OnApprove>,
    /// Which hosts may work on it.
    pub placement: Placement,
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
    Triage,
    /// Blocked until somebody unblocks it.
    Blocked,
    Scheduled(i64),
}

/// A project, as far as cards are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectLink {
    /// Id in the database of projects.
    pub id: String,
    /// Short name, the first part of branch names.
    pub slug: String,
    pub repository: Option<PathBuf>,
}

/// A claim on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    pub task: TaskId,
    /// Who claims, `<host>:<pid>`.
    pub lock: String,
    /// How long the claim lasts without a heartbeat; at least a second.
    pub ttl_seconds: i64,
    pub from: ClaimFrom,
    /// The process that starts a worker next; `None` for a claim by hand.
    pub dispatcher: Option<WorkerIdentity>,
    /// The host that claims.
    pub host: Option<HostRef>,
    /// What must not be exceeded on a board that several hosts share.
    pub caps: ClaimCaps,
}

/// Limits on cards in progress that a claim keeps to by itself: whoever counted them before may have lost
/// its turn since.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClaimCaps {
    /// For all cards, with the key of the limit.
    pub for_all: Option<(&'static str, usize)>,
    /// For those of the same assignee.
    pub per_profile: Option<usize>,
    /// For those on the same host.
    pub per_host: Option<usize>,
}

impl ClaimCaps {
    /// Whether nothing is limited.
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The limit that is reached beside so many cards: of all, of the same assignee, on the same host.
    pub fn reached(&self, [all, profile, host]: [usize; 3]) -> Option<ReachedCap> {
        let profile_cap = self.per_profile.map(|limit| (PROFILE_CAP, limit, profile));
        let host_cap = self.per_host.map(|limit| (HOST_CAP, limit, host));
        let for_all = self.for_all.map(|(cap, limit)| (cap, limit, all));
        let mut caps = [profile_cap, for_all, host_cap].into_iter().flatten();
        caps.find(|(_, limit, current)| current >= limit)
            .map(|(cap, limit, current)| ReachedCap {
                cap,
                limit,
                current,
            })
    }
}

/// A limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReachedCap {
    /// Its key in the configuration.
    pub cap: &'static str,
    pub limit: usize,
    pub current: usize,
}

/// Queues of cards that can be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimFrom {
    Ready,
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
    pub lock: Option<String>,
    pub expires: Option<i64>,
    pub pid: Option<i64>,
    pub run: Option<RunId>,
}

/// A completion.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The attempt that completes the card; it must be the one in progress.
    pub expected_run: Option<RunId>,
    pub result: Option<String>,
    /// Summary for whoever goes on.
    pub summary: Option<String>,
    /// Facts for machines.
    pub metadata: Option<Object>,
    /// Whether a person has approved the work: that ends the wait for a review, too.
    #[serde(default)]
    pub is_approval: bool,
    /// The approval, recorded with the completion.
    #[serde(skip)]
    pub approval: Option<Approval>,
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
    pub filename: String,
    pub stored_path: PathBuf,
    pub content_type: Option<String>,
    pub size: u64,
    pub uploaded_by: Option<String>,
    /// Its content on the server of the board; the path is below the attachments then.
    pub content: Option<StoredContent>,
}

/// A content that is on the server of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredContent {
    pub(crate) number: i64,
    pub(crate) digest: String,
}

/// Blocking a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRequest {
    pub task: TaskId,
    pub reason: Option<String>,
    pub kind: Option<BlockKind>,
    /// The attempt that asks; it must be the one in progress.
    pub expected_run: Option<RunId>,
}

/// Scheduling a card for later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRequest {
    pub task: TaskId,
    pub reason: Option<String>,
    /// When the card wakes; without a time, somebody has to unblock it.
    pub at: Option<i64>,
    /// The attempt that asks; it must be the one in progress.
    pub expected_run: Option<RunId>,
}

/// Promoting a card by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromoteRequest {
    pub task: TaskId,
    pub actor: String,
    pub reason: Option<String>,
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

/// Why the attempt at a running card ends without its worker's doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The claim expired. Counts no failure.
    Expired {
        /// Whether the worker is alive without heartbeats.
        heartbeat_stale: bool,
    },
    /// The worker sent no heartbeat. Counts no failure.
    Silent(Silence),
    /// The worker exited without completing its card.
    Exited {
        exit: WorkerExit,
        policy: FailurePolicy,
    },
    /// The worker exceeded its time limit.
    TimedOut {
        elapsed_seconds: i64,
        limit_seconds: i64,
        policy: FailurePolicy,
    },
}

/// A worker without heartbeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    pub elapsed_seconds: i64,
    pub last_heartbeat_at: Option<i64>,
    pub heartbeat_age_seconds: Option<i64>,
    pub timeout_seconds: i64,
}

/// Why a card that could be worked on waits, to be noted on it.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitNote {
    pub task: TaskId,
    pub reason: WaitReason,
}

/// Why a card that could be worked on waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    /// The respawn guard holds it back.
    Guarded(&'static str),
    /// Something stands in the way of a worker of this assignee.
    Obstacle {
        assignee: String,
        obstacle: Obstacle,
    },
}

impl WaitReason {
    /// Kind of the event that notes it.
    pub(crate) fn event(&self) -> &'static str {
        match self {
            Self::Guarded(_) => "respawn_guarded",
            Self::Obstacle { .. } => "preflight",
        }
    }

    /// Particulars of that event.
    pub(crate) fn payload(&self) -> Value {
        match self {
            Self::Guarded(reason) => json!({"reason": reason}),
            Self::Obstacle { assignee, obstacle } => json!({
                "assignee": assignee,
                "problem": &*obstacle.problem,
                "hint": obstacle.hint.as_deref(),
                "holds": obstacle.holds,
            }),
        }
    }
}

/// The workspace of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedWorkspace {
    pub path: PathBuf,
    pub branch: Option<String>,
    /// Where the work begins; kept from the first attempt on. `None` outside of repositories.
    pub base: Option<WorkBase>,
}

/// Who claimed a card. The number of an attempt alone is not enough before the claim has been forced to
/// the disk: a server that lost the claim may give the number to somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claimant<'a> {
    pub run: RunId,
    pub lock: &'a str,
    /// Id of the host.
    pub host: Option<&'a str>,
}

/// Who runs the checks of a card.
pub struct CheckStart<'a> {
    pub checker: Checker,
    /// How long a claim made for the checks lasts.
    pub ttl_seconds: i64,
    /// Whether the process of an earlier session is gone.
    pub is_gone: &'a dyn Fn(&Checker) -> bool,
}
