//! A card.

use serde::{Serialize, Serializer};

use crate::model::{RunId, Status, TaskId, WorkspaceKind};

/// One card, as it is in the database. Serialises to the object that `create`, `list` and `show`
/// print.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Task {
    /// Its name.
    pub id: TaskId,
    /// One line.
    pub title: String,
    /// The description.
    pub body: Option<String>,
    /// Assignee: a profile or a lane.
    pub assignee: Option<String>,
    /// Its status. That of a newer program is in [`Task::status_word`].
    #[serde(serialize_with = "status_word", rename = "status")]
    pub state: TaskState,
    /// Higher goes first.
    pub priority: i64,
    /// Namespace inside a board.
    pub tenant: Option<String>,
    /// Kind of workspace; see [`Task::workspace`].
    pub workspace_kind: String,
    /// Requested directory, then the resolved one.
    pub workspace_path: Option<String>,
    /// Branch of a worktree.
    pub branch_name: Option<String>,
    /// Project it belongs to.
    pub project_id: Option<String>,
    /// Who created it.
    pub created_by: Option<String>,
    /// When it was created.
    pub created_at: i64,
    /// When it was first claimed.
    pub started_at: Option<i64>,
    /// When it was last finished.
    pub completed_at: Option<i64>,
    /// Short result.
    pub result: Option<String>,
    /// Skills its worker loads; `None` if none were given.
    #[serde(serialize_with = "list_or_empty")]
    pub skills: Option<Vec<String>>,
    /// Failures after which it is blocked, instead of the configured number.
    pub max_retries: Option<i64>,
    /// Session of the agent that created it.
    pub session_id: Option<String>,
    /// Reserved.
    pub workflow_template_id: Option<String>,
    /// Reserved.
    pub current_step_key: Option<String>,
    /// Who works on it, `<host>:<pid>`.
    pub claim_lock: Option<String>,
    /// When that claim ends.
    pub claim_expires: Option<i64>,
    /// Its worker.
    pub worker_pid: Option<i64>,
    /// The open attempt.
    pub current_run_id: Option<RunId>,
    /// Failures since the last success.
    pub consecutive_failures: i64,
    /// What the last one was.
    pub last_failure_error: Option<String>,
    /// Longest time of an attempt.
    pub max_runtime_seconds: Option<i64>,
    /// Model for its worker.
    pub model_override: Option<String>,
    /// Whether its worker goes on until a judge finds the goal reached.
    pub goal_mode: bool,
    /// Most turns of such a worker.
    pub goal_max_turns: Option<i64>,
    /// Why it was last blocked.
    pub block_kind: Option<String>,
    /// How often it was blocked for the same reason.
    pub block_recurrences: i64,
    /// Idempotency key.
    pub idempotency_key: Option<String>,
    /// Last heartbeat of its worker.
    pub last_heartbeat_at: Option<i64>,
    /// Time before which it is not worked on.
    pub scheduled_at: Option<i64>,
}

/// Status of a card with the text it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskState {
    /// The status.
    pub status: Status,
    /// The text, which differs only if the status is unknown.
    pub word: String,
}

impl From<Status> for TaskState {
    fn from(status: Status) -> Self {
        Self {
            status,
            word: status.as_str().to_owned(),
        }
    }
}

impl Task {
    /// The status.
    pub fn status(&self) -> Status {
        self.state.status
    }

    /// The status as text.
    pub fn status_word(&self) -> &str {
        &self.state.word
    }

    /// Kind of workspace; `None` for one of a newer program.
    pub fn workspace(&self) -> Option<WorkspaceKind> {
        WorkspaceKind::parse(&self.workspace_kind)
    }
}

/// A card with its links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkedTask {
    /// The card.
    #[serde(flatten)]
    pub task: Task,
    /// Cards it waits for.
    pub parents: Vec<TaskId>,
    /// Cards that wait for it.
    pub children: Vec<TaskId>,
}

fn status_word<S: Serializer>(state: &TaskState, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&state.word)
}

#[expect(clippy::ref_option, reason = "the signature is serde's")]
fn list_or_empty<S: Serializer>(list: &Option<Vec<String>>, to: S) -> Result<S::Ok, S::Error> {
    list.as_deref().unwrap_or_default().serialize(to)
}
