//! Cards worked by real agents: filed, dispatched, worked on through tools in a workspace, completed,
//! checked by the runtime, and the next one begun.

use std::time::{Duration, Instant};

use hermes_testkit::ProgramOutput;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::Desk;

/// Long enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// Looks at the card, writes a file, looks at it with a command, completes.
pub(crate) const SCRIPT: &str = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls: [{tool: kanban_show, arguments: {}}]
  - match: {tool: kanban_show}
    calls: [{tool: write_file, arguments: {path: greeting.txt, content: "hello\n"}}]
  - match: {tool: write_file}
    calls: [{tool: terminal, arguments: {command: "echo world >> greeting.txt; cat greeting.txt; pwd"}}]
  - match: {tool: terminal}
    calls:
      - tool: kanban_complete
        arguments:
          summary: The greeting is written.
          artifacts: [greeting.txt]
          metadata: {lines: 2}
  - text: Done.
"#;

/// A profile whose model is a script.
pub(crate) struct Builder {
    pub(crate) desk: Desk,
}

impl Builder {
    pub(crate) fn new(script: &str, settings: &str) -> Self {
        let desk = Desk::new();
        desk.home.run(["profile", "create", "builder"]).succeeds();
        let script = desk.home.put_outside("script.yaml", script, 0o600);
        desk.home.put(
            "profiles/builder/config.yaml",
            format!(
                "model:\n  provider: replay\n  script: {}\n{settings}",
                script.display()
            ),
        );
        Self { desk }
    }

    /// One look at the board, as on a machine that is no container.
    pub(crate) fn dispatch(&self) -> ProgramOutput {
        let run = self.desk.home.hermes(["kanban", "dispatch", "--json"]);
        run.on_host().run()
    }

    /// Starts the workers of what is ready and waits until a card stands there.
    #[track_caller]
    pub(crate) fn work(&self, id: &str, until: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // An earlier worker of the card that has not quite ended holds the next one up.
            let report = self.dispatch();
            let spawned = report.succeeds().json()["spawned"].take();
            if spawned[0]["task_id"] == id {
                break;
            }
            assert!(Instant::now() < deadline, "no worker for {id}: {report}");
        }
        self.wait(id, until);
    }

    /// Waits until a card stands there and its worker has ended.
    #[track_caller]
    pub(crate) fn wait(&self, id: &str, until: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.desk.status(id) != until || self.is_at_work(id) {
            assert!(
                Instant::now() < deadline,
                "{id} is not {until}: {}",
                self.log(id)
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Whether a worker of the card has not ended: it says so last.
    fn is_at_work(&self, id: &str) -> bool {
        !self.log(id).contains("Session: ")
    }

    pub(crate) fn log(&self, id: &str) -> String {
        let path = self.desk.home.path(&format!("kanban/logs/{id}.log"));
        std::fs::read_to_string(path).unwrap_or_default()
    }

    pub(crate) fn card(&self, id: &str) -> Value {
        self.desk.kanban(&["show", id])
    }

    /// What the model was told in the session of a run.
    pub(crate) fn session(&self, run: &Value) -> String {
        let session = run["metadata"]["worker_session_id"].as_str().unwrap();
        let args = [
            "-p",
            "builder",
            "sessions",
            "export",
            "-",
            "--session-id",
            session,
        ];
        let exported = self.desk.home.run(args);
        exported.succeeds();
        exported.stdout
    }
}

impl Drop for Builder {
    /// No test leaves a worker behind, also when it fails.
    fn drop(&mut self) {
        let root = self.desk.home.root();
        let is_ours = |process: &hermes_proc::MarkedProcess| {
            std::path::Path::new(&process.values[0]).starts_with(&root)
        };
        hermes_proc::kill_marked(&["HERMES_KANBAN_DB"], is_ours, Duration::from_secs(10));
    }
}

/// From filing to the next card. Gives what the first worker was told.
pub(crate) fn from_filing_to_the_next_card(builder: &Builder) -> String {
    let desk = &builder.desk;
    let check = "test \"$(cat greeting.txt)\" = \"$(printf 'hello\\nworld')\"";
    let first = desk.create(
        "greet",
        &[
            "--assignee",
            "builder",
            "--body",
            "Write a greeting.",
            "--check",
            check,
        ],
    );
    let second = desk.create("go on", &["--assignee", "builder", "--parent", &first]);
    assert_eq!(desk.status(&second), "todo");
    builder.work(&first, "done");
    let card = builder.card(&first);
    let run = &card["runs"][0];
    assert_eq!(run["outcome"], "completed", "{}", builder.log(&first));
    assert_eq!(run["summary"], "The greeting is written.");
    assert_eq!(run["metadata"]["lines"], 2);
    let kept = run["metadata"]["artifacts"][0].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "hello\nworld\n");
    let kinds: Vec<&str> = card["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"checks_passed"), "{kinds:?}");
    let told = builder.session(run);
    assert!(
        told.contains("Write a greeting.") && told.contains("hello\\\\nworld"),
        "{told}"
    );
    // The one that waited starts, and knows what the first handed over.
    assert_eq!(desk.status(&second), "ready");
    builder.work(&second, "done");
    let next = builder.session(&builder.card(&second)["runs"][0]);
    assert!(next.contains("Parent task results") && next.contains("The greeting is written."));
    // Nobody needs the scratch directories any more, so they are gone.
    for id in [&first, &second] {
        let workspace = desk.home.path(&format!("kanban/workspaces/{id}"));
        assert!(!workspace.exists(), "{}", workspace.display());
    }
    told
}

#[test]
fn a_card_is_worked_checked_and_the_next_one_begins() {
    from_filing_to_the_next_card(&Builder::new(SCRIPT, ""));
}

#[test]
fn a_check_that_fails_sends_the_card_back_and_the_next_attempt_knows() {
    let script = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls: [{tool: kanban_show, arguments: {}}]
  - match: {tool: kanban_show, last: "Prior attempts on this task"}
    calls: [{tool: write_file, arguments: {path: greeting.txt, content: "hello world\n"}}]
  - match: {tool: kanban_show}
    calls: [{tool: write_file, arguments: {path: greeting.txt, content: "hello\n"}}]
  - match: {tool: write_file}
    calls: [{tool: kanban_complete, arguments: {summary: All done and tested.}}]
  - text: Done.
"#;
    let builder = Builder::new(script, "");
    let directory = builder.desk.home.outside("project");
    std::fs::create_dir(&directory).unwrap();
    let place = format!("dir:{}", directory.display());
    let id = builder.desk.create(
        "greet",
        &[
            "--assignee",
            "builder",
            "--workspace",
            &place,
            "--check",
            "grep -c world greeting.txt",
        ],
    );
    builder.work(&id, "ready");
    let card = builder.card(&id);
    assert_eq!(card["task"]["consecutive_failures"], 1);
    assert_eq!(
        std::fs::read_to_string(directory.join("greeting.txt")).unwrap(),
        "hello\n"
    );
    std::fs::remove_file(builder.desk.home.path(&format!("kanban/logs/{id}.log"))).unwrap();
    builder.work(&id, "done");
    let card = builder.card(&id);
    assert_eq!(card["runs"].as_array().unwrap().len(), 2);
    assert_eq!(card["task"]["consecutive_failures"], 0);
    let text = std::fs::read_to_string(directory.join("greeting.txt")).unwrap();
    assert_eq!(text, "hello world\n");
}
