//! The guide for newcomers works as written: its commands are typed in order, and its cards are done
//! at the end. Only the model is scripted, by an administrator's settings that name another address.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hermes_testkit::{ModelServer, ReceivedRequest, ScriptedAnswer};
use serde_json::{Value, json};

use crate::read;

/// Commands of the blocks of kind `sh`, in order.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_block = false;
    for line in page.lines() {
        match line.trim() {
            "```sh" => in_block = true,
            "```" => in_block = false,
            command if in_block => found.push(command.to_owned()),
            _ => {}
        }
    }
    found
}

/// A model that reads its card, writes the file that the card asks for, and completes the card.
fn worker(request: &ReceivedRequest) -> ScriptedAnswer {
    if !request.contains("work kanban task") {
        return ScriptedAnswer::text("Hello from a scripted model.");
    }
    let messages = request.body["messages"].as_array().unwrap();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let (file, content) = if request.contains("Write a word counter in sh") {
        ("count.sh", "wc -w\n")
    } else {
        ("test.sh", "exit 0\n")
    };
    match results.count() {
        0 => ScriptedAnswer::call("kanban_show", &json!({})),
        1 => ScriptedAnswer::call("write_file", &json!({"path": file, "content": content})),
        2 => ScriptedAnswer::call("kanban_complete", &json!({"summary": "written"})),
        _ => ScriptedAnswer::text("done"),
    }
}

/// A user's home with the program on PATH.
struct User {
    home: tempfile::TempDir,
}

impl User {
    fn new(server: &ModelServer) -> Self {
        let home = tempfile::tempdir().unwrap();
        let programs = home.path().join(".local/bin");
        std::fs::create_dir_all(&programs).unwrap();
        let program = programs.join("hermes");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_hermes"), program).unwrap();
        let managed = home.path().join("managed");
        std::fs::create_dir(&managed).unwrap();
        let settings = format!(
            "model:\n  base_url: {}\n  context_length: 200000\n",
            server.base_url()
        );
        std::fs::write(managed.join("config.yaml"), settings).unwrap();
        Self { home }
    }

    /// What a command that must succeed prints.
    fn types(&self, command: &str) -> String {
        let home = self.home.path();
        let output = Command::new("sh")
            .args(["-c", command])
            .env_clear()
            .env("HOME", home)
            .env("HERMES_MANAGED_DIR", home.join("managed"))
            .env("PATH", path_of(home))
            .current_dir(home)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}\n{printed}\n{told}");
        printed
    }

    fn cards(&self) -> Vec<Value> {
        serde_json::from_str(&self.types("hermes kanban list --json")).unwrap()
    }
}

fn path_of(home: &Path) -> String {
    format!("{}:/usr/bin:/bin", home.join(".local/bin").display())
}

#[test]
fn the_commands_of_the_guide_lead_to_finished_cards() {
    let server = ModelServer::start_with(worker);
    let user = User::new(&server);
    for command in commands(&read("docs/guide.md")) {
        user.types(&command);
    }
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let cards = user.cards();
        assert_eq!(cards.len(), 2, "the guide creates two cards");
        if cards.iter().all(|card| card["status"] == "done") {
            return;
        }
        assert!(Instant::now() < deadline, "not done: {cards:#?}");
        // Workers leave nothing else to wait for: the board is what a user would look at, too.
        std::thread::sleep(Duration::from_millis(100));
    }
}
