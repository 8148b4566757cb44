//! A home whose model is a scripted server.

use hermes_testkit::{
    ModelServer, ProgramCall, ProgramOutput, ReceivedRequest, ScriptedAnswer, TestHome,
};
use serde_json::Value;

/// A home and the server it asks.
pub(crate) struct World {
    pub(crate) home: TestHome,
    pub(crate) server: ModelServer,
}

impl World {
    /// Answers in this order.
    pub(crate) fn answering(answers: impl IntoIterator<Item = ScriptedAnswer>) -> Self {
        Self::with(ModelServer::start(answers))
    }

    /// A server of any kind.
    pub(crate) fn with(server: ModelServer) -> Self {
        Self::configured(server, "")
    }

    /// With more lines of settings.
    pub(crate) fn configured(server: ModelServer, more: &str) -> Self {
        let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
        let world = Self { home, server };
        world.configure("context_length: 200000", more);
        world
    }

    /// Writes the settings anew: `model` into the block of the model, `more` behind it. Unless that
    /// says something about side tasks, nobody is asked for titles: scripted answers are for the
    /// conversation.
    pub(crate) fn configure(&self, model: &str, more: &str) {
        let url = self.server.base_url();
        let side = if more.contains("auxiliary:") {
            ""
        } else {
            "auxiliary: {title_generation: {enabled: false}}\n"
        };
        self.home.put(
            "config.yaml",
            format!(
                "model:\n  default: test-model\n  provider: custom\n  base_url: {url}\n  {model}\n\
                 {side}{more}\n"
            ),
        );
    }

    /// A call of the program.
    pub(crate) fn hermes(&self, args: &[&str]) -> ProgramCall {
        self.home.hermes(args)
    }

    /// `chat -Q -q QUERY`
    pub(crate) fn ask(&self, query: &str) -> ProgramOutput {
        self.home.run(["chat", "-Q", "-q", query])
    }

    /// The bodies of all questions so far.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        let questions = self.server.questions();
        questions
            .into_iter()
            .map(|question| question.body)
            .collect()
    }

    /// The messages of the last question.
    pub(crate) fn last_messages(&self) -> Vec<Value> {
        let bodies = self.bodies();
        messages(bodies.last().unwrap())
    }

    /// The stored messages of a session, inactive ones included, as the export has them.
    pub(crate) fn stored(&self, session: &str) -> Vec<Value> {
        let outcome = self
            .home
            .run(["sessions", "export", "-", "--session-id", session]);
        outcome.succeeds();
        outcome.json()["messages"].as_array().unwrap().clone()
    }
}

/// The messages of a question.
pub(crate) fn messages(body: &Value) -> Vec<Value> {
    body["messages"].as_array().unwrap().clone()
}

/// Every call of a question has its result, and every result its call.
#[track_caller]
pub(crate) fn assert_paired(question: &Value) {
    let mut open: Vec<String> = Vec::new();
    for message in messages(question) {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            let at = open.iter().position(|call| call == id);
            assert!(at.is_some(), "orphan result {id}: {question}");
            open.remove(at.unwrap());
        } else {
            assert!(open.is_empty(), "unanswered {open:?}: {question}");
            let calls = message["tool_calls"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            open = calls
                .iter()
                .map(|call| call["id"].as_str().unwrap().to_owned())
                .collect();
        }
    }
    assert!(open.is_empty(), "unanswered {open:?}: {question}");
}

/// The session a quiet run names.
pub(crate) fn session_of(outcome: &ProgramOutput) -> String {
    let line = outcome
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("session_id: "));
    assert!(line.is_some(), "no session in {outcome}");
    line.unwrap().to_owned()
}

/// Whether the question is one for a summary.
pub(crate) fn is_summary_request(question: &ReceivedRequest) -> bool {
    question.body["messages"][0]["content"]
        .as_str()
        .is_some_and(|text| text.contains("You condense the past"))
}
