//! How real workers end under a real dispatcher, and what becomes of their cards.

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::end_to_end::{Builder, PATIENCE};

/// A profile and one card of its.
struct Case {
    builder: Builder,
    id: String,
}

impl Case {
    fn new(script: &str, settings: &str, flags: &[&str]) -> Self {
        let builder = Builder::new(script, settings);
        let flags: Vec<&str> = ["--assignee", "builder"]
            .iter()
            .chain(flags)
            .copied()
            .collect();
        let id = builder.desk.create("x", &flags);
        Self { builder, id }
    }

    /// One look at the board that waits for no crash.
    fn look(&self) -> Value {
        let run = self
            .builder
            .desk
            .home
            .hermes(["kanban", "dispatch", "--json"]);
        let run = run.on_host().env("HERMES_KANBAN_CRASH_GRACE_SECONDS", "0");
        run.run().succeeds().json()
    }

    /// Starts the worker of the card; gives its number.
    fn start(&self) -> u32 {
        let report = self.look();
        assert_eq!(
            report["spawned"][0]["task_id"],
            self.id.as_str(),
            "{report}"
        );
        self.number()
    }

    fn number(&self) -> u32 {
        let pid = &self.builder.card(&self.id)["task"]["worker_pid"];
        u32::try_from(pid.as_u64().unwrap()).unwrap()
    }

    fn workspace(&self, name: &str) -> std::path::PathBuf {
        let workspace = format!("kanban/workspaces/{}/{name}", self.id);
        self.builder.desk.home.path(&workspace)
    }

    fn kinds(&self) -> Vec<String> {
        let card = self.builder.card(&self.id);
        let events = card["events"].as_array().unwrap();
        let kind = |event: &Value| event["kind"].as_str().unwrap().to_owned();
        events.iter().map(kind).collect()
    }

    fn last_run(&self) -> Value {
        let mut card = self.builder.card(&self.id);
        card["runs"].as_array_mut().unwrap().pop().unwrap()
    }
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process has not ended.
fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some(Some('Z' | 'X')))
}

// check 29
#[test]
fn a_worker_that_is_asked_to_end_is_gone_soon_with_all_it_started() {
    let script = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls:
      - tool: terminal
        arguments: {command: "sh -c 'trap : TERM; echo $$ > child; while :; do sleep 1; done'"}
  - text: Done.
"#;
    let case = Case::new(script, "", &["--max-retries", "1"]);
    let worker = case.start();
    let child = case.workspace("child");
    let read = || std::fs::read_to_string(&child).unwrap_or_default();
    until("its command runs", || read().ends_with('\n'));
    let child: u32 = read().trim().parse().unwrap();
    assert!(lives(worker) && lives(child));
    let asked = Instant::now();
    let pid = rustix::process::Pid::from_raw(i32::try_from(worker).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    until("it is gone", || !lives(worker));
    // A second and a half for its tools, two for the rest; and the machine may be busy.
    assert!(
        asked.elapsed() < Duration::from_secs(8),
        "{:?}",
        asked.elapsed()
    );
    assert!(!lives(child), "its command lives on");
    let report = case.look();
    assert_eq!(report["crashed"], json!([case.id]), "{report}");
    let kinds = case.kinds();
    assert!(kinds.contains(&"crashed".to_owned()), "{kinds:?}");
    assert!(
        !kinds.contains(&"protocol_violation".to_owned()),
        "{kinds:?}"
    );
    let error = case.last_run()["error"].to_string();
    assert!(error.contains("code 143"), "{error}");
}

// check 31: whoever started the worker is gone when it ends
#[test]
fn worker_exit_75_is_retried_later_and_not_a_failure() {
    let script = "
turns:
  - error: {class: billing, message: insufficient credits}
    times: 99
";
    let case = Case::new(script, "", &[]);
    let worker = case.start();
    until("it has ended", || !lives(worker));
    let report = case.look();
    assert_eq!(
        report["rate_limited"],
        json!([case.id]),
        "{}",
        case.builder.log(&case.id)
    );
    assert_eq!(case.last_run()["outcome"], "rate_limited");
    assert_eq!(
        case.builder.card(&case.id)["task"]["consecutive_failures"],
        0
    );
    let report = case.look();
    let guarded = &report["respawn_guarded"][0];
    assert_eq!(guarded["reason"], "rate_limit_cooldown", "{report}");
}

#[test]
fn exhausted_budget_fails_the_attempt() {
    let script = r#"
turns:
  - match: {user: "work kanban task"}
    calls: [{tool: kanban_show, arguments: {}}]
    times: 99
  - text: So far.
"#;
    let case = Case::new(script, "agent:\n  max_turns: 2\n", &[]);
    let worker = case.start();
    until("it has ended", || !lives(worker));
    let log = case.builder.log(&case.id);
    assert_eq!(case.last_run()["outcome"], "timed_out", "{log}");
    let card = case.builder.card(&case.id);
    assert_eq!(card["task"]["status"], "ready");
    assert_eq!(card["task"]["consecutive_failures"], 1);
    // It was freed by its worker; nothing is left for a dispatcher to find out.
    let kinds = case.kinds();
    assert!(kinds.contains(&"timed_out".to_owned()), "{kinds:?}");
}

// check 31
#[test]
fn worker_that_never_completes_is_reminded_twice_and_counted() {
    let script = "turns:\n  - text: I have thought about it.\n    times: 99\n";
    let case = Case::new(script, "", &["--max-retries", "1"]);
    let worker = case.start();
    until("it has ended", || !lives(worker));
    let report = case.look();
    assert_eq!(report["crashed"], json!([case.id]), "{report}");
    let kinds = case.kinds();
    assert!(
        kinds.contains(&"protocol_violation".to_owned()),
        "{kinds:?}"
    );
    let log = case.builder.log(&case.id);
    assert_eq!(case.builder.desk.status(&case.id), "blocked", "{log}");
}

#[test]
fn after_a_failed_check_the_next_attempt_waits_for_the_worker_and_says_so() {
    let script = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls: [{tool: kanban_complete, arguments: {summary: Made it.}}]
  - match: {tool: kanban_complete}
    text: That was it.
    delay: 60
"#;
    let case = Case::new(script, "", &["--check", "false"]);
    let worker = case.start();
    until("its check has failed", || {
        case.builder.desk.status(&case.id) == "ready"
    });
    let home = &case.builder.desk.home;
    assert!(lives(worker), "it has its last word to say");
    // As usual, with the time that a worker is given to end.
    let look = || home.hermes(["kanban", "dispatch"]).on_host();
    let report = look().arg("--json").run().succeeds().json();
    assert_eq!(report["spawned"], json!([]), "{report}");
    let guarded = &report["respawn_guarded"][0];
    assert_eq!(guarded["reason"], "previous_worker_alive", "{report}");
    assert!(lives(worker), "{}", case.builder.log(&case.id));
    look()
        .run()
        .succeeds()
        .prints_part("Held back (a worker of its last attempt is still running");
    home.hermes(["kanban", "why", &case.id])
        .on_host()
        .run()
        .succeeds()
        .prints_part("A worker of its last attempt is still running.");
    // Not a moment longer than it lives.
    let pid = rustix::process::Pid::from_raw(i32::try_from(worker).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until("it is gone", || !lives(worker));
    let report = look().arg("--json").run().succeeds().json();
    assert_eq!(
        report["spawned"][0]["task_id"],
        case.id.as_str(),
        "{report}"
    );
}

#[test]
fn worker_log_is_rotated_when_it_has_grown() {
    let script = "turns:\n  - text: Nothing.\n    times: 99\n";
    let case = Case::new(script, "", &[]);
    case.builder
        .desk
        .home
        .run(["config", "set", "kanban.worker_log_rotate_bytes", "1000"])
        .succeeds();
    let log = format!("kanban/logs/{}.log", case.id);
    case.builder.desk.home.put(&log, "o".repeat(1001));
    let worker = case.start();
    until("it has ended", || !lives(worker));
    let home = &case.builder.desk.home;
    assert_eq!(home.read(&format!("{log}.1")), "o".repeat(1001));
    assert!(!home.read(&log).contains("ooo"));
    assert!(home.read(&log).contains("Nothing."));
}
