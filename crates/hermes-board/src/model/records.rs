//! What belongs to a card: attempts, events, comments, attachments, subscriptions.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::{Outcome, RunId, TaskId};

/// A JSON object.
pub type Object = Map<String, Value>;

/// The object of a JSON literal; empty for any other value.
pub(crate) fn object(value: Value) -> Object {
    match value {
        Value::Object(map) => map,
        _ => Object::new(),
    }
}

/// One attempt at a card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    pub id: RunId,
    pub profile: Option<String>,
    /// Reserved.
    pub step_key: Option<String>,
    /// `running` while open.
    pub status: String,
    /// How it ended; see [`Run::ended_how`].
    pub outcome: Option<String>,
    pub summary: Option<String>,
    pub error: Option<String>,
    /// Facts for machines.
    pub metadata: Option<Object>,
    pub worker_pid: Option<i64>,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    pub task_id: TaskId,
    pub claim_lock: Option<String>,
    pub claim_expires: Option<i64>,
    pub max_runtime_seconds: Option<i64>,
    pub last_heartbeat_at: Option<i64>,
    /// The host of its worker; `None` for an attempt of another program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_id: Option<String>,
    /// What that host was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Run {
    /// The outcome; `None` while open or for one of a newer program.
    pub fn ended_how(&self) -> Option<Outcome> {
        self.outcome.as_deref().and_then(Outcome::parse)
    }
}

/// Something that happened to a card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Its number; events of a board are numbered in order.
    pub id: i64,
    pub task_id: TaskId,
    pub run_id: Option<RunId>,
    pub kind: String,
    pub payload: Option<Value>,
    pub created_at: i64,
}

impl Event {
    /// A text of the particulars.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.payload.as_ref()?.get(key)?.as_str()
    }
}

/// A comment on a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comment {
    pub id: i64,
    pub task_id: TaskId,
    pub author: String,
    pub body: String,
    pub created_at: i64,
}

/// A file that belongs to a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    pub id: i64,
    pub task_id: TaskId,
    /// Display name.
    pub filename: String,
    pub stored_path: PathBuf,
    pub content_type: Option<String>,
    /// Bytes.
    pub size: u64,
    pub uploaded_by: Option<String>,
    pub created_at: i64,
}

/// A chat that follows a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Subscription {
    pub task_id: TaskId,
    pub platform: String,
    pub chat_id: String,
    /// Thread in the chat; empty for none.
    pub thread_id: String,
    pub user_id: Option<String>,
    /// Profile whose gateway delivers.
    pub notifier_profile: Option<String>,
    pub created_at: i64,
    /// Events up to this one need not be sent.
    pub last_event_id: i64,
}
