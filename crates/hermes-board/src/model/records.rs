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
    /// Its number.
    pub id: RunId,
    /// The profile.
    pub profile: Option<String>,
    /// Reserved.
    pub step_key: Option<String>,
    /// `running` while open.
    pub status: String,
    /// How it ended; see [`Run::ended_how`].
    pub outcome: Option<String>,
    /// The summary.
    pub summary: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// Facts for machines.
    pub metadata: Option<Object>,
    /// Its worker while open.
    pub worker_pid: Option<i64>,
    /// When it began.
    pub started_at: i64,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// The card.
    pub task_id: TaskId,
    /// Who held the claim.
    pub claim_lock: Option<String>,
    /// When the claim ends.
    pub claim_expires: Option<i64>,
    /// Longest time.
    pub max_runtime_seconds: Option<i64>,
    /// The last heartbeat.
    pub last_heartbeat_at: Option<i64>,
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
    /// The card.
    pub task_id: TaskId,
    /// The attempt it belongs to.
    pub run_id: Option<RunId>,
    /// What happened.
    pub kind: String,
    /// The particulars.
    pub payload: Option<Value>,
    /// When.
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
    /// Its number.
    pub id: i64,
    /// The card.
    pub task_id: TaskId,
    /// The author.
    pub author: String,
    /// The text.
    pub body: String,
    /// When.
    pub created_at: i64,
}

/// A file that belongs to a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// Its number.
    pub id: i64,
    /// The card.
    pub task_id: TaskId,
    /// Display name.
    pub filename: String,
    /// Path of the file.
    pub stored_path: PathBuf,
    /// Content type, if given.
    pub content_type: Option<String>,
    /// Bytes.
    pub size: u64,
    /// Who attached it.
    pub uploaded_by: Option<String>,
    /// When.
    pub created_at: i64,
}

/// A chat that follows a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Subscription {
    /// The card.
    pub task_id: TaskId,
    /// Platform of the chat.
    pub platform: String,
    /// The chat.
    pub chat_id: String,
    /// Thread in the chat; empty for none.
    pub thread_id: String,
    /// The user who subscribed.
    pub user_id: Option<String>,
    /// Profile whose gateway delivers.
    pub notifier_profile: Option<String>,
    /// When.
    pub created_at: i64,
    /// Events up to this one need not be sent.
    pub last_event_id: i64,
}
