//! `hermes sessions` with the real binary, in a home of its own.
//!
//! `// check N` names the acceptance check of the chapter on the agent that a test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests look at files and databases directly"
)]

mod exporting;
mod listing;
mod removing;
mod repair;
mod storage;

use hermes_session::{
    ConversationStep, MessageRole, NewSession, SessionEndReason, SessionId, SessionMessage,
    SessionStore,
};
use hermes_store::rusqlite::Connection;
use hermes_testkit::{ProgramCall, ProgramOutput, TestHome};
use serde_json::{Value, json};

/// A user's home with conversations.
struct SessionHome {
    home: TestHome,
}

impl SessionHome {
    /// A user who has never said a word.
    fn new() -> Self {
        Self {
            home: TestHome::new(env!("CARGO_BIN_EXE_hermes")),
        }
    }

    fn store(&self) -> SessionStore {
        SessionStore::open(&self.home.root()).unwrap()
    }

    /// A conversation under this id.
    fn talk(&self, id: &str, source: &str, said: &[&str]) {
        let mut store = self.store();
        let id = SessionId::parse(id).unwrap();
        let new = NewSession {
            id: Some(id.clone()),
            source: source.to_owned(),
            model: Some("lab/model".to_owned()),
            ..NewSession::default()
        };
        store.create_session(&new).unwrap();
        for text in said {
            store
                .append_user(&id, &SessionMessage::user(*text))
                .unwrap();
            let calls = json!([{"id": "c", "type": "function",
                "function": {"name": "terminal", "arguments": "{}"}}]);
            let step = ConversationStep {
                assistant: SessionMessage {
                    tool_calls: Some(calls),
                    ..SessionMessage::new(MessageRole::Assistant)
                },
                results: vec![SessionMessage::tool_result(
                    "c",
                    "terminal",
                    format!("did {text}"),
                )],
                usage: None,
            };
            store.append_step(&id, &step).unwrap();
        }
    }

    /// Lets a conversation have ended so many days ago.
    fn end(&self, id: &str, days: u32) {
        let id = SessionId::parse(id).unwrap();
        self.store()
            .end_session(&id, SessionEndReason::AgentClose)
            .unwrap();
        self.sql(&format!(
            "UPDATE sessions SET started_at = started_at - {days} * 86400.0,
                 ended_at = ended_at - {days} * 86400.0 WHERE id = '{id}'"
        ));
    }

    fn sql(&self, sql: &str) {
        let connection = Connection::open(self.home.path("state.db")).unwrap();
        connection.execute_batch(sql).unwrap();
    }

    /// The bytes of the database.
    fn database(&self) -> Vec<u8> {
        std::fs::read(self.home.path("state.db")).unwrap()
    }

    /// A call of `hermes sessions …` that has not started yet.
    fn call(&self, args: &[&str]) -> ProgramCall {
        self.home.hermes(["sessions"]).args(args)
    }

    /// Runs `hermes sessions …` to its end.
    fn sessions(&self, args: &[&str]) -> ProgramOutput {
        self.call(args).run()
    }

    /// The ids that a list shows, in its order.
    fn listed(&self, args: &[&str]) -> Vec<String> {
        let args: Vec<&str> = ["list", "--json"].iter().chain(args).copied().collect();
        let listed = self.sessions(&args).json();
        let ids = listed.as_array().unwrap().iter();
        ids.map(|entry| entry["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// Names of the fields of an object.
fn fields(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// Names and contents of the files of a home, without those that logs are.
fn files(home: &SessionHome) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(home.home.root())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}
