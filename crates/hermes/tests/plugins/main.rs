//! Plugins as the program meets them: installed from real repositories, with real processes behind
//! them, and some that do everything wrong.
//!
//! `// check N` names the acceptance check of the chapter on add-ons that a test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests look at files and processes directly"
)]

mod bad_plugins;
mod commands;
mod conversations;
mod installing;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use hermes_testkit::{ProgramOutput, TestHome};
use serde_json::Value;

/// A user's home with plugins.
struct Desk {
    home: TestHome,
}

impl Desk {
    fn new(settings: &str) -> Self {
        let desk = Self {
            home: TestHome::new(env!("CARGO_BIN_EXE_hermes")),
        };
        desk.settings(settings);
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

    /// A plugin that is an MCP server in these modes.
    fn put_server(&self, name: &str, words: &[&str], more: &str) {
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plugins/programs/server.py");
        let server = std::fs::read(server).unwrap();
        self.home.put(&format!("plugins/{name}/server.py"), server);
        let words: Vec<String> = words.iter().map(|word| format!(", {word}")).collect();
        self.home.put(
            &format!("plugins/{name}/plugin.yaml"),
            format!(
                "name: {name}\nversion: 1.0.0\ndescription: Notes\nruntime: mcp\n\
                 command: [python3, server.py{}]\n{more}",
                words.concat()
            ),
        );
    }

    /// A plugin whose script is run at these events.
    fn put_script(&self, name: &str, script: &str, events: &str) {
        let file = format!("plugins/{name}/hook.sh");
        self.home.put(&file, format!("#!/bin/sh\n{script}\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.home.path(&file), mode).unwrap();
        self.home.put(
            &format!("plugins/{name}/plugin.yaml"),
            format!(
                "name: {name}\nruntime: exec\ncommand: [./hook.sh]\nprovides_hooks: [{events}]\n"
            ),
        );
    }

    fn run(&self, args: &[&str]) -> ProgramOutput {
        self.home.run(args)
    }

    /// A conversation that plays this script.
    fn chat(&self, script: &str) -> ProgramOutput {
        self.home.put("script.yaml", script);
        self.home.run(["chat", "-Q", "-q", "go"])
    }

    /// The plugins as `hermes plugins list --json` has them.
    fn list(&self) -> Vec<Value> {
        let listed = self.run(&["plugins", "list", "--json"]).succeeds().json();
        listed.as_array().unwrap().clone()
    }

    /// What a hook of a plugin wrote down, one JSON object a line.
    fn heard(&self, plugin: &str) -> Vec<Value> {
        let file = self.home.path(&format!("plugins/{plugin}/heard"));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// A repository outside of the home with a plugin `notes` of this version; gives its path.
    fn commit(&self, version: &str) -> PathBuf {
        let repository = self.home.outside("repository");
        if !repository.is_dir() {
            std::fs::create_dir_all(&repository).unwrap();
            hermes_testkit::git(&repository, &["init", "--quiet"]);
        }
        let manifest = format!("name: notes\nversion: '{version}'\ndescription: Takes notes\n");
        std::fs::write(repository.join("plugin.yaml"), manifest).unwrap();
        hermes_testkit::git(&repository, &["add", "."]);
        hermes_testkit::git(&repository, &["commit", "--quiet", "-m", version]);
        repository
    }
}

/// A call of the terminal, and what the model says when its result has a text.
fn calling(command: &str, expected: &str) -> String {
    format!(
        "turns:\n  - match: {{step: 1}}\n    calls: [{{tool: terminal, arguments: {{command: {command}}}}}]\n  \
         - match: {{last: \"{expected}\"}}\n    text: as expected\n  - match: {{step: 2}}\n    text: missed\n"
    )
}
