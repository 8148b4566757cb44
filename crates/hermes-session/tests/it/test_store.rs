//! A home with sessions, and what tests do to it.

use std::path::Path;
use std::time::Duration;

use hermes_session::{
    CompactionLock, ConversationStep, LockAttempt, MessageId, MessageRole, NewSession, SessionId,
    SessionMessage, SessionStore,
};
use hermes_store::rusqlite::Connection;
use serde_json::{Value, json};

pub(crate) struct TestStore {
    pub(crate) home: tempfile::TempDir,
    pub(crate) store: SessionStore,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = SessionStore::open(home.path()).unwrap();
        Self { home, store }
    }

    /// A session of the command line with these messages of a person, each answered.
    pub(crate) fn conversation(&mut self, said: &[&str]) -> SessionId {
        self.conversation_from("cli", said)
    }

    pub(crate) fn conversation_from(&mut self, source: &str, said: &[&str]) -> SessionId {
        let id = self.store.create_session(&new_session(source)).unwrap();
        for text in said {
            self.store
                .append_user(&id, &SessionMessage::user(*text))
                .unwrap();
            let step = ConversationStep {
                assistant: SessionMessage {
                    content: Some(format!("answer to {text}").into()),
                    ..SessionMessage::new(MessageRole::Assistant)
                },
                results: Vec::new(),
                usage: None,
            };
            self.store.append_step(&id, &step).unwrap();
        }
        id
    }

    /// The right to compact a session, as somebody called `me`.
    pub(crate) fn lock_compaction(&mut self, id: &SessionId) -> CompactionLock {
        let lease = Duration::from_mins(5);
        let lock = match self
            .store
            .try_lock_compaction(id, "me", None, lease)
            .unwrap()
        {
            LockAttempt::Taken(lock) => Some(lock),
            LockAttempt::Held { .. } => None,
        };
        lock.unwrap()
    }

    /// Changes the file behind the store's back.
    pub(crate) fn sql(&self, sql: &str) {
        sql_in(self.home.path(), sql);
    }

    pub(crate) fn texts(&self, id: &SessionId) -> Vec<String> {
        let history = self.store.load_history(id).unwrap();
        history.messages.iter().map(|m| m.message.text()).collect()
    }
}

/// All messages of a session, also inactive ones, as they are exported.
pub(crate) fn all_messages(store: &SessionStore, id: &SessionId) -> Vec<Value> {
    let exported = store.export(id).unwrap();
    exported["messages"].as_array().unwrap().clone()
}

/// The ids of all messages of a session.
pub(crate) fn all_ids(store: &SessionStore, id: &SessionId) -> Vec<MessageId> {
    let messages = all_messages(store, id);
    let ids = messages
        .iter()
        .map(|message| message["id"].as_i64().unwrap());
    ids.map(MessageId).collect()
}

pub(crate) fn new_session(source: &str) -> NewSession {
    NewSession {
        source: source.to_owned(),
        model: Some("m".to_owned()),
        ..NewSession::default()
    }
}

pub(crate) fn sql_in(home: &Path, sql: &str) {
    let connection = Connection::open(home.join("state.db")).unwrap();
    connection.execute_batch(sql).unwrap();
}

pub(crate) fn call(id: &str, name: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}})
}

pub(crate) fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}
