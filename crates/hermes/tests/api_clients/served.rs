//! A gateway with its API on, and a scripted model behind it.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hermes_testkit::{ModelServer, ReceivedRequest, Running, ScriptedAnswer, TestHome};
use serde_json::{Value, json};

pub(crate) const KEY: &str = "0123456789abcdef0123456789abcdef";

/// A gateway that answers at [`Self::base_url`]. Ends when dropped.
pub(crate) struct Served {
    pub(crate) model: ModelServer,
    pub(crate) home: TestHome,
    port: u16,
    _gateway: Running,
}

impl Served {
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// With more settings.
    pub(crate) fn with(settings: &str) -> Self {
        let model = ModelServer::start_with(answer);
        let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
        let port = free_port();
        home.put(
            "config.yaml",
            format!(
                "model:\n  default: scripted\n  provider: custom\n  base_url: {}\n  \
                 context_length: 200000\nagent:\n  api_max_retries: 1\n{settings}",
                model.base_url()
            ),
        );
        home.put(
            ".env",
            format!("API_SERVER_KEY={KEY}\nAPI_SERVER_PORT={port}\n"),
        );
        let gateway = home.hermes(["gateway", "run"]).start();
        while let Some(line) = gateway.next_line() {
            if line.starts_with("Ready (PID ") {
                return Self {
                    model,
                    home,
                    port,
                    _gateway: gateway,
                };
            }
        }
        panic!("the gateway ended: {:?}", gateway.errors());
    }

    /// `http://127.0.0.1:PORT`
    pub(crate) fn root(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn base_url(&self) -> String {
        format!("{}/v1", self.root())
    }

    /// Runs a program of this directory as a client of this gateway.
    #[track_caller]
    pub(crate) fn client(&self, interpreter: &Path, words: &[&Path]) {
        let mut command = Command::new(interpreter);
        command
            .args(words)
            .env("API_BASE", self.base_url())
            .env("API_KEY", KEY);
        succeeds(self, &mut command);
    }

    /// Questions to the model whose last user message is this one.
    pub(crate) fn asked(&self, text: &str) -> usize {
        let questions = self.model.questions();
        let asked = questions.iter().filter(|question| {
            user_texts(&question.body)
                .last()
                .is_some_and(|last| last == text)
        });
        asked.count()
    }
}

/// Runs a client to its end; what it and the gateway said is shown if it fails.
#[track_caller]
pub(crate) fn succeeds(served: &Served, command: &mut Command) {
    // Nothing a client reads from the environment of whoever runs the tests may lead it elsewhere.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().to_lowercase();
        if text.starts_with("openai") || text.ends_with("_proxy") {
            command.env_remove(name);
        }
    }
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let log = std::fs::read_to_string(served.home.path("logs/gateway.log")).unwrap_or_default();
    assert!(
        output.status.success(),
        "{command:?}\n{}\n{}\nlog of the gateway:\n{log}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A file of `programs`.
pub(crate) fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/api_clients/programs")
        .join(name)
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// The model: what it says depends on the conversation alone, so that every client can meet it.
fn answer(request: &ReceivedRequest) -> ScriptedAnswer {
    let texts = user_texts(&request.body);
    let last = texts.last().map(String::as_str).unwrap_or_default();
    let has_result = request.body["messages"]
        .as_array()
        .and_then(|messages| messages.last())
        .is_some_and(|message| message["role"] == "tool");
    match last {
        _ if has_result => ScriptedAnswer::text("It is forty-two."),
        "hello" => ScriptedAnswer::text("Good day."),
        "and now" => ScriptedAnswer::text(&texts.join(", ")),
        "tell me" => ScriptedAnswer::pieces(&["Ein ", "Text ", "in ", "Stücken ✓"])
            .slowly(Duration::from_millis(60)),
        "tell me slowly" => {
            ScriptedAnswer::pieces(&["slowly "; 20]).slowly(Duration::from_millis(150))
        }
        "fail" => ScriptedAnswer::status(
            400,
            &json!({"error": {"message": "this model refuses", "type": "invalid_request_error"}}),
        ),
        text if text.starts_with("count") => {
            ScriptedAnswer::call("terminal", &json!({"command": "echo server-$((6*7))"}))
        }
        // An answer without a word would be none.
        text if !text.chars().any(char::is_alphanumeric) => ScriptedAnswer::text("I see."),
        text => ScriptedAnswer::text(text),
    }
}

/// What the person has said, oldest first.
fn user_texts(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let said = messages.iter().filter(|message| message["role"] == "user");
    said.map(|message| text_of(&message["content"])).collect()
}

fn text_of(content: &Value) -> String {
    match content {
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        content => content.as_str().unwrap_or_default().to_owned(),
    }
}
