//! A dispatcher of its own.

use std::fs;

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::assert_refuses;
use crate::crew::{Crew, until};

fn end(running: &mut hermes_testkit::Running, signal: Signal) -> Option<i32> {
    let pid = Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
    running.wait().code()
}

const COMPLETE: &str = "\"$HERMES_REAL\" kanban complete $HERMES_KANBAN_TASK";

/// A worker that completes its card once it is told to.
fn when_told() -> String {
    format!("while ! test -e \"$CREW_DIR/go\"; do sleep 0.05; done; {COMPLETE}")
}

fn tell(crew: &Crew) {
    fs::write(crew.desk.home.outside("crew").join("go"), "").unwrap();
}

#[test]
fn the_daemon_dispatches_on_all_boards_until_a_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let crew = Crew::new();
        let pidfile = crew.desk.home.outside("run/daemon.pid");
        let mut daemon = crew.daemon(&["-v", "--pidfile", pidfile.to_str().unwrap()]);
        let first = crew.file(&when_told(), &[]);
        until("the tick that starts a worker", || {
            let line = daemon.next_line().unwrap();
            line.ends_with("default: spawned=1").then_some(())
        });
        tell(&crew);
        crew.wait_for_status(&first, "done");
        assert_eq!(
            fs::read_to_string(&pidfile).unwrap(),
            format!("{}\n", daemon.pid())
        );
        crew.desk.kanban(&["boards", "create", "site"]).succeeds();
        let there = crew
            .desk
            .json(&["--board", "site", "create", "x", "--assignee", "beta"]);
        let there = there["id"].as_str().unwrap().to_owned();
        crew.note(&there, "pids");
        assert_eq!(end(&mut daemon, signal), Some(0));
        assert!(!pidfile.exists());
    }
}

// check 32
#[test]
fn a_second_dispatcher_is_refused() {
    let crew = Crew::new();
    let mut daemon = crew.daemon(&[]);
    let lock = crew.desk.home.path("kanban/.dispatcher.lock");
    until("the lock", || {
        hermes_fs::FileLock::is_held(&lock)
            .unwrap_or(false)
            .then_some(())
    });
    assert_refuses(
        &crew.kanban(&["daemon"]),
        1,
        "another dispatcher is running for this home",
    );
    // Nobody needs to be told that nobody starts workers.
    crew.kanban(&["create", "x", "--assignee", "alpha"])
        .succeeds()
        .says("");
    daemon.kill();
    let mut next = crew.daemon(&[]);
    until("the next one's lock", || {
        hermes_fs::FileLock::is_held(&lock).unwrap().then_some(())
    });
    assert_eq!(end(&mut next, Signal::TERM), Some(0));
}

#[test]
fn workers_outlive_the_daemon_and_the_next_one_adopts_them() {
    let crew = Crew::new();
    let id = crew.file(&when_told(), &[]);
    let mut daemon = crew.daemon(&[]);
    crew.note(&id, "pids");
    crew.wait_for_status(&id, "running");
    assert_eq!(end(&mut daemon, Signal::TERM), Some(0));
    let _next = crew.daemon(&[]);
    tell(&crew);
    crew.wait_for_status(&id, "done");
    assert_eq!(crew.outcomes(&id), ["completed"]);
}

#[test]
fn a_damaged_board_does_not_hold_up_the_others() {
    let crew = Crew::new();
    crew.desk.kanban(&["boards", "create", "site"]).succeeds();
    let database = crew.desk.home.path("kanban/boards/site/kanban.db");
    crew.desk.kanban(&["--board", "site", "list"]).succeeds();
    fs::write(
        &database,
        "no database at all, just some words\n".repeat(200),
    )
    .unwrap();
    let mut daemon = crew.daemon(&[]);
    for _ in 0..2 {
        let id = crew.file(COMPLETE, &[]);
        crew.wait_for_status(&id, "done");
    }
    assert_eq!(end(&mut daemon, Signal::TERM), Some(0));
    let said = daemon.errors();
    let about = said
        .iter()
        .filter(|line| line.contains("board site"))
        .count();
    assert_eq!(about, 1, "{said:?}");
}

#[test]
fn the_daemon_reads_settings_again_for_each_tick() {
    let crew = Crew::new();
    let id = crew.desk.create("nobody's", &[]);
    let daemon = crew.daemon(&["-v"]);
    crew.script(&id, COMPLETE);
    crew.configure(&["default_assignee: beta"]);
    crew.wait_for_status(&id, "done");
    assert_eq!(crew.desk.json(&["show", &id])["task"]["assignee"], "beta");
    drop(daemon);
}

#[test]
fn invalid_daemon_arguments_are_refused() {
    let crew = Crew::new();
    for interval in ["0", "-1", "nan", "soon"] {
        crew.kanban(&["daemon", &format!("--interval={interval}")])
            .exits(2)
            .prints("");
    }
    crew.kanban(&["--board", "nope", "daemon"]).exits(1);
    let taken = crew.desk.home.put_outside("file", "", 0o600);
    let below = taken.join("pid");
    crew.kanban(&["daemon", "--pidfile", below.to_str().unwrap()])
        .exits(1)
        .prints("");
}

/// A daemon whose interval is too long to help.
fn reacting(crew: &Crew, flags: &[&str]) -> hermes_testkit::Running {
    let args: Vec<&str> = ["daemon", "--interval", "3600"]
        .iter()
        .chain(flags)
        .copied()
        .collect();
    let daemon = crew.call(&args).start();
    let lock = crew.desk.home.path("kanban/.dispatcher.lock");
    until("the lock", || {
        hermes_fs::FileLock::is_held(&lock)
            .unwrap_or(false)
            .then_some(())
    });
    daemon
}

#[test]
fn chained_cards_follow_each_other_at_once() {
    let crew = Crew::new();
    let _daemon = reacting(&crew, &[]);
    let mut cards: Vec<String> = Vec::new();
    for _ in 0..3 {
        let parent: Vec<&str> = cards.last().map_or(vec![], |id| vec!["--parent", id]);
        let script = format!("sleep 0.2; {COMPLETE}");
        let id = crew.desk.create(
            "card",
            &[
                &["--initial-status", "blocked", "--assignee", "alpha"],
                &parent[..],
            ]
            .concat(),
        );
        crew.script(&id, &script);
        cards.push(id);
    }
    let begun = std::time::Instant::now();
    for id in &cards {
        crew.desk.kanban(&["unblock", id]).succeeds();
    }
    crew.wait_for_status(&cards[2], "done");
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

#[test]
fn a_changed_setting_a_new_board_and_a_due_card_start_a_tick_at_once() {
    let crew = Crew::new();
    let _daemon = reacting(&crew, &[]);
    let unassigned = crew.desk.create("unassigned", &[]);
    crew.script(&unassigned, COMPLETE);
    crew.configure(&["default_assignee: beta"]);
    crew.wait_for_status(&unassigned, "done");

    crew.desk.kanban(&["boards", "create", "site"]).succeeds();
    let there = crew
        .desk
        .json(&["--board", "site", "create", "x", "--assignee", "beta"]);
    crew.note(there["id"].as_str().unwrap(), "pids");

    let due = (jiff::Timestamp::now().as_second() + 2).to_string();
    let later = crew
        .desk
        .create("later", &["--scheduled-at", &due, "--assignee", "alpha"]);
    crew.script(&later, COMPLETE);
    crew.wait_for_status(&later, "done");
}

#[test]
fn a_worker_that_dies_is_noticed_at_once() {
    let crew = Crew::configured(&["failure_limit: 1"]);
    let _daemon = reacting(&crew, &[]);
    let id = crew.file("exit 3", &[]);
    crew.wait_for_status(&id, "blocked");
}

#[test]
fn the_daemon_prints_events_limits_and_wrong_values_once() {
    let crew = Crew::configured(&[
        "max_in_progress: 3",
        "failure_limit: abc",
        "max_in_progress_per_profile: -1",
        "default_assignee: beta",
    ]);
    let mut daemon = reacting(&crew, &[]);
    let id = crew.file(COMPLETE, &[]);
    crew.wait_for_status(&id, "done");
    let mut lines = Vec::new();
    while !lines.iter().any(|line: &String| line.contains("completed")) {
        lines.push(daemon.next_line().unwrap());
    }
    for kind in ["unblocked", "claimed", "spawned", "completed"] {
        let of_kind = lines
            .iter()
            .filter(|line| line.contains(&format!("] {id} {kind} ")) && line.contains("(@alpha)"));
        assert_eq!(of_kind.count(), 1, "{kind}: {lines:#?}");
    }
    crew.configure(&[
        "max_in_progress: 3",
        "failure_limit: abc",
        "max_in_progress_per_profile: -1",
    ]);
    let next = crew.file(COMPLETE, &[]);
    crew.wait_for_status(&next, "done");
    assert_eq!(end(&mut daemon, Signal::TERM), Some(0));
    let said = daemon.errors().join("\n");
    assert!(
        said.contains(
            "Cards in progress: 3; per profile: unlimited. Blocked after 2 failures. \
             Default assignee: beta. Checked at every change, and at least every 3600 s."
        ),
        "{said}"
    );
    for wrong in [
        "kanban.failure_limit: expected a whole number",
        "kanban.max_in_progress_per_profile",
    ] {
        assert_eq!(said.matches(wrong).count(), 1, "{wrong}: {said}");
    }
}

#[test]
fn a_quiet_daemon_prints_nothing_but_warnings() {
    let crew = Crew::new();
    let mut daemon = reacting(&crew, &["-q"]);
    let id = crew.file(COMPLETE, &[]);
    crew.wait_for_status(&id, "done");
    crew.wait_for_end(&id);
    assert_eq!(end(&mut daemon, Signal::TERM), Some(0));
    assert_eq!(daemon.next_line(), None);
    assert_eq!(daemon.errors(), ["Stopped."]);
}

#[test]
fn event_lines_carry_a_few_facts_and_fit() {
    let crew = Crew::new();
    let daemon = reacting(&crew, &[]);
    let summary = "s".repeat(300);
    let id = crew.file(
        &format!("\"$HERMES_REAL\" kanban complete $HERMES_KANBAN_TASK --summary {summary}"),
        &["--body", &"b".repeat(5000)],
    );
    let mut lines = Vec::new();
    while !lines
        .iter()
        .any(|line: &String| line.contains(" completed "))
    {
        let line = daemon.next_line().unwrap();
        assert!(line.chars().count() < 180, "{line}");
        assert!(!line.contains('{'), "{line}");
        lines.push(line);
    }
    let of = |kind: &str| {
        let found = lines
            .iter()
            .find(|line| line.contains(&format!("{id} {kind} ")));
        found
            .unwrap_or_else(|| panic!("no {kind}: {lines:#?}"))
            .clone()
    };
    assert!(of("claimed").ends_with("(@alpha) run 1"), "{lines:#?}");
    assert!(of("spawned").contains("(@alpha) pid "), "{lines:#?}");
    assert!(of("completed").contains(" sss"), "{lines:#?}");
}

/// A crew whose model splits every card in two.
pub(crate) fn splitting(server: &ModelServer, lines: &str) -> Crew {
    let crew = Crew::new();
    crew.desk.home.put(
        "config.yaml",
        format!(
            "model: {{provider: custom, default: m, base_url: '{}'}}\nkanban:\n{lines}",
            server.base_url()
        ),
    );
    crew
}

fn two_tasks() -> ModelServer {
    let answer = json!({"fanout": true, "tasks": [
        {"title": "one", "body": "b", "assignee": "alpha", "parents": []},
        {"title": "two", "body": "b", "assignee": "beta", "parents": [0]},
    ]});
    ModelServer::always(ScriptedAnswer::text(&answer.to_string()))
}

/// Files cards in triage that nobody has touched for a while.
pub(crate) fn in_triage(crew: &Crew, count: usize, flags: &[&str]) -> Vec<String> {
    let ids: Vec<String> = (0..count)
        .map(|number| {
            let flags: Vec<&str> = ["--triage"].iter().chain(flags).copied().collect();
            crew.desk.create(&format!("note {number}"), &flags)
        })
        .collect();
    let database = crew.desk.database();
    for table in ["tasks", "task_events"] {
        let age = format!("UPDATE {table} SET created_at = created_at - 61");
        database.execute(&age, []).unwrap();
    }
    ids
}

#[test]
fn cards_in_triage_are_split_without_being_asked() {
    let server = two_tasks();
    let crew = splitting(&server, "  auto_decompose_per_tick: 2\n");
    let cards = in_triage(&crew, 3, &[]);
    let opted_out = in_triage(&crew, 1, &["--body", "text\n  no-auto-decompose\nmore"]);
    let elsewhere = in_triage(&crew, 1, &["--assignee", "some-lane"]);
    let fresh = crew.desk.create("just written", &["--triage"]);
    let mut daemon = reacting(&crew, &[]);
    // Two per interval, which is an hour here.
    let split = || -> Vec<&String> {
        let is_split = |id: &&String| crew.desk.status(id) == "todo";
        cards.iter().filter(is_split).collect()
    };
    until("two cards are split", || (split().len() == 2).then_some(()));
    let children = crew.desk.json(&["list"]);
    let children = children.as_array().unwrap().iter();
    let by = children.filter(|card| card["created_by"] == "auto-decomposer");
    assert_eq!(by.count(), 4);
    let event = crew.desk.last_event(split()[0], "decomposed");
    assert_eq!(event["child_ids"].as_array().unwrap().len(), 2);
    assert_eq!(server.questions().len(), 2);
    assert_eq!(split().len(), 2);
    for id in [&opted_out[0], &elsewhere[0], &fresh] {
        assert_eq!(crew.desk.status(id), "triage");
    }
    assert_eq!(end(&mut daemon, Signal::TERM), Some(0));
}

#[test]
fn cards_in_triage_are_left_alone_where_that_is_switched_off_or_unreadable() {
    for config in ["  auto_decompose: false\n", "  auto_decompose: [\n"] {
        let server = two_tasks();
        let crew = splitting(&server, config);
        let card = in_triage(&crew, 1, &[]).remove(0);
        let mut daemon = crew.daemon(&[]);
        // Once another card has been worked on, there were ticks enough.
        let other = crew.file(COMPLETE, &[]);
        crew.wait_for_status(&other, "done");
        assert_eq!(end(&mut daemon, Signal::TERM), Some(0));
        assert_eq!(crew.desk.status(&card), "triage");
        assert_eq!(server.questions().len(), 0);
    }
}

#[test]
fn a_card_that_could_not_be_split_is_said_once_and_tried_later() {
    let server = ModelServer::always(ScriptedAnswer::text("no idea"));
    let crew = splitting(&server, "  auto_decompose: true\n");
    let card = in_triage(&crew, 1, &[]).remove(0);
    let mut daemon = crew.daemon(&[]);
    let said = || {
        daemon
            .errors()
            .iter()
            .any(|line| line.contains("was not split"))
    };
    until("it is said", || said().then_some(()));
    let other = crew.file(COMPLETE, &[]);
    crew.wait_for_status(&other, "done");
    assert_eq!(server.questions().len(), 1);
    assert_eq!(crew.desk.status(&card), "triage");
    assert_eq!(end(&mut daemon, Signal::TERM), Some(0));
}
