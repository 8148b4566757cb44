//! MCP servers as the program meets them: good ones, and ones that print garbage, never answer,
//! flood, change their tools or die. The servers are `programs/server.py`.
//!
//! `// check N` names the acceptance check of the chapter on agents that a test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests look at files and processes directly"
)]

mod bad_servers;
mod calls;
mod certificates;
mod commands;
mod conversations;
mod ends;
mod failures;
mod pictures;
mod sampling;
mod settings;

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_testkit::{ProgramOutput, TestHome, eventually};
use serde_json::{Value, json};

/// A user's home with MCP servers.
struct Desk {
    home: TestHome,
}

impl Desk {
    /// A home whose settings have a server `srv` in these modes, and these settings beside it.
    fn new(modes: &[&str], more: &str) -> Self {
        let desk = Self {
            home: TestHome::new(env!("CARGO_BIN_EXE_hermes")),
        };
        let args: Vec<String> = [script().display().to_string()]
            .into_iter()
            .chain(modes.iter().map(|mode| (*mode).to_owned()))
            .collect();
        desk.settings(&format!(
            "mcp_servers:\n  srv:\n    command: python3\n    args: {}\n{more}",
            json!(args)
        ));
        desk
    }

    fn settings(&self, text: &str) {
        let script = self.home.path("script.yaml");
        let model = format!(
            "model: {{provider: replay, script: {}}}\n",
            script.display()
        );
        self.home.put("config.yaml", format!("{model}{text}"));
    }

    /// What a call of a tool of the server answers.
    #[track_caller]
    fn call(&self, tool: &str, args: Value) -> Value {
        let name = format!("mcp__srv__{tool}");
        let run = self.home.run(["tools", "call", &name, &args.to_string()]);
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
    }

    /// The results of tools in the session of a conversation.
    #[track_caller]
    fn results(&self, run: &ProgramOutput) -> Vec<String> {
        let mut lines = run.stderr.lines();
        let session = lines.find_map(|line| line.strip_prefix("session_id: "));
        let export = ["sessions", "export", "-", "--session-id", session.unwrap()];
        let exported = self.home.run(export).succeeds().json();
        let messages = exported["messages"].as_array().unwrap().iter();
        let results = messages.filter(|message| message["role"] == "tool");
        results
            .map(|message| message["content"].as_str().unwrap().to_owned())
            .collect()
    }

    /// A conversation that plays this script.
    fn chat(&self, script: &str) -> ProgramOutput {
        self.home.put("script.yaml", script);
        self.home.run(["chat", "-Q", "-q", "go"])
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/programs/server.py")
}

/// Processes whose command line has this text, ourselves apart.
fn processes_with(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(text) && line.contains("server.py") && pid != std::process::id() {
            found.push(pid);
        }
    }
    found
}

/// Waits until no process of a server with this text in its command line is left.
fn wait_for_none(text: &str) {
    eventually("no server is left", || processes_with(text).is_empty());
}

const SECOND: Duration = Duration::from_secs(1);
