//! A running mock server, and a home that uses it as its model.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use hermes_testkit::{ProgramOutput, TestHome};
use serde_json::Value;

use crate::packages;

/// Long enough for an interpreter to start on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// The formats a model is asked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Chat,
    Responses,
    Anthropic,
}

impl Wire {
    fn mode(self) -> &'static str {
        match self {
            Self::Chat => "chat_completions",
            Self::Responses => "codex_responses",
            Self::Anthropic => "anthropic_messages",
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Anthropic => "/v1/messages",
        }
    }
}

/// A server that somebody else wrote. Ends when dropped.
pub(crate) struct MockServer {
    child: Child,
    root: String,
}

impl MockServer {
    /// `aimock` with these answers; `flags` are its own.
    pub(crate) fn aimock(home: &TestHome, answers: &Value, flags: &[&str]) -> Self {
        let (node, script) = packages::aimock();
        let answers = home.put_outside("answers.json", answers.to_string(), 0o600);
        let mut command = Command::new(node);
        command
            .arg(script)
            .args(["--port", "0", "--chunk-size", "7"]);
        command.arg("--fixtures").arg(answers).args(flags);
        Self::start(command)
    }

    /// `aimock` that knows its clients by this key.
    pub(crate) fn aimock_for(home: &TestHome, answers: &Value, key: &str) -> Self {
        let (node, script) = packages::aimock();
        let answers = home.put_outside("answers.json", answers.to_string(), 0o600);
        let mut command = Command::new(node);
        command.arg(script).args(["--port", "0", "--fixtures"]);
        command.arg(answers).env("AIMOCK_API_KEYS", key);
        Self::start(command)
    }

    /// `ai-mock` with these answers.
    pub(crate) fn ai_mock(home: &TestHome, answers: &Value) -> Self {
        let answers = home.put_outside("answers.json", answers.to_string(), 0o600);
        let mut command = Command::new(packages::ai_mock());
        command
            .args(["-m", "uvicorn", "mockai.server:app", "--port", "0"])
            .env("MOCKAI_RESPONSES", answers);
        Self::start(command)
    }

    /// Starts it and waits until it says where it listens.
    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (sender, said) = channel();
        for pipe in [
            Box::new(child.stdout.take().unwrap()) as Box<dyn Read + Send>,
            Box::new(child.stderr.take().unwrap()),
        ] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                // Read to the end, so that a talkative server does not wait for a reader.
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    drop(sender.send(line));
                }
            });
        }
        drop(sender);
        let mut server = Self {
            child,
            root: String::new(),
        };
        match address(&said) {
            Ok(root) => server.root = root,
            Err(said) => panic!("{command:?} does not come up: {said:?}"),
        }
        server
    }

    /// `http://127.0.0.1:PORT`
    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    /// What it has been asked at a path, oldest first, by its own account.
    pub(crate) fn journal(&self, path: &str) -> Vec<Value> {
        let output = Command::new("python3")
            .args([
                "-c",
                "import sys, urllib.request\n\
                   sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())",
            ])
            .arg(format!("{}/__aimock/journal", self.root))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        all.into_iter()
            .filter(|entry| entry["path"] == path)
            .collect()
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The address in the first line that has one; what was said instead.
fn address(said: &Receiver<String>) -> Result<String, Vec<String>> {
    let deadline = Instant::now() + PATIENCE;
    let mut lines = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = match said.recv_timeout(left) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Err(lines),
        };
        let found = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .map(str::to_owned);
        match found {
            Some(address) => return Ok(address),
            None => lines.push(line),
        }
    }
}

/// A home without settings yet.
pub(crate) fn empty_home() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_hermes"))
}

/// Makes the server the model, by this format; `model` are more lines of its block, `more` lines
/// behind it.
pub(crate) fn ask_by(home: &TestHome, base_url: &str, wire: Wire, model: &str, more: &str) {
    home.put(
        "config.yaml",
        format!(
            "model:\n  default: server\n  provider: custom\n  base_url: {base_url}\n  \
             api_mode: {}\n  context_length: 200000\n{model}{more}",
            wire.mode()
        ),
    );
}

/// The session a quiet run names.
pub(crate) fn session_of(outcome: &ProgramOutput) -> String {
    let line = outcome
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("session_id: "));
    line.unwrap_or_else(|| panic!("no session in {outcome}"))
        .to_owned()
}
