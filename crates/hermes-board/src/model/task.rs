//! A card.

use serde::{Serialize, Serializer};

use crate::model::{RunId, Status, TaskId, WorkspaceKind};

/// One card, as it is in the database. Serialises to the object that `create`, `list` and `show`
/// print.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Task {
    pub id: TaskId,
    pub title: String,
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
    pub branch_name: Option<String>,
    pub project_id: Option<String>,
    pub created_by: Option<String>,
    pub created_at: i64,
    /// When it was first claimed.
    pub started_at: Option<i64>,
    /// When it was last finished.
    pub completed_at: Option<i64>,
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
    pub claim_expires: Option<i64>,
    pub worker_pid: Option<i64>,
    pub current_run_id: Option<RunId>,
    pub consecutive_failures: i64,
    pub last_failure_error: Option<String>,
    pub max_runtime_seconds: Option<i64>,
    pub model_override: Option<String>,
    /// Whether its worker goes on until a judge finds the goal reached.
    pub goal_mode: bool,
    pub goal_max_turns: Option<i64>,
    /// Whether its commands run in the sandbox, `on` or `off`, instead of what the settings say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// For a card that an agent created: the directory, without links, that its workspace must lie
    /// in; empty if the agent chose none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filed_within: Option<String>,
    /// The address that its worktree is cloned from and pushed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    pub block_kind: Option<String>,
    /// How often it was blocked for the same reason.
    pub block_recurrences: i64,
    pub idempotency_key: Option<String>,
    pub last_heartbeat_at: Option<i64>,
    /// Time before which it is not worked on.
    pub scheduled_at: Option<i64>,
    /// Labels that the host of its worker must have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_labels: Vec<String>,
    /// Name of the host that it must be worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
}

/// Status of a card with the text it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskState {
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
    /// The branch that its worktree is on.
    pub(crate) fn work_branch(&self) -> String {
        let given = self.branch_name.as_deref().map(str::trim);
        match given.filter(|name| !name.is_empty()) {
            Some(name) => name.to_owned(),
            None => format!("wt/{}", self.id),
        }
    }

    /// The status.
    pub fn status(&self) -> Status {
        self.state.status
    }

    /// The status as text.
    pub fn status_word(&self) -> &str {
        &self.state.word
    }

    /// Whether an agent created the card.
    pub fn is_filed_by_agent(&self) -> bool {
        self.filed_within.is_some()
    }

    /// Kind of workspace; `None` for one of a newer program.
    pub fn workspace(&self) -> Option<WorkspaceKind> {
        WorkspaceKind::parse(&self.workspace_kind)
    }
}

/// A card with its links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkedTask {
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
