//! The dispatcher inside gateways.

use std::fs;
use std::time::{Duration, Instant};

use hermes_testkit::{ModelServer, ProgramCall, Running, ScriptedAnswer};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::crew::{Crew, until};
use crate::daemon::{in_triage, splitting};

const COMPLETE: &str = "\"$HERMES_REAL\" kanban complete $HERMES_KANBAN_TASK";

/// A call of `hermes … gateway run` whose workers are the crew's.
fn call(crew: &Crew, profile: &str) -> ProgramCall {
    crew.desk
        .home
        .hermes(["-p", profile, "gateway", "run"])
        .env("HERMES_BIN", crew.desk.home.outside("worker"))
        .env("HERMES_REAL", crew.desk.home.program())
        .env("CREW_DIR", crew.desk.home.outside("crew"))
        .env("HERMES_KANBAN_CRASH_GRACE_SECONDS", "0")
        .env("HERMES_GATEWAY_MAX_STARTS", "0")
}

/// A gateway that is ready.
#[track_caller]
fn gateway(call: ProgramCall) -> Running {
    let gateway = call.start();
    while let Some(line) = gateway.next_line() {
        if line.starts_with("Ready (PID ") {
            return gateway;
        }
    }
    panic!("the gateway ended: {:?}", gateway.errors());
}

fn end(gateway: &mut Running, signal: Signal) -> Option<i32> {
    let pid = Pid::from_raw(i32::try_from(gateway.pid()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
    gateway.wait().code()
}

fn dispatcher_of(crew: &Crew, file: &str) -> Value {
    let text = fs::read_to_string(crew.desk.home.path(file)).unwrap_or_default();
    let state: Value = serde_json::from_str(&text).unwrap_or_default();
    state["services"]["dispatcher"].clone()
}

fn log(crew: &Crew, file: &str) -> String {
    fs::read_to_string(crew.desk.home.path(file)).unwrap_or_default()
}

#[test]
fn a_gateway_dispatches_on_every_board_and_workers_outlive_it() {
    let crew = Crew::new();
    crew.configure(&["dispatch_interval_seconds: 3600"]);
    let mut gateway = gateway(call(&crew, "default"));
    let first = crew.file(COMPLETE, &[]);
    crew.wait_for_status(&first, "done");
    crew.desk.kanban(&["boards", "create", "site"]).succeeds();
    let there = crew
        .desk
        .json(&["--board", "site", "create", "x", "--assignee", "beta"]);
    crew.note(there["id"].as_str().unwrap(), "pids");
    // Nobody has to be told that nobody starts workers.
    let slow = crew.file("exec sleep 300", &[]);
    crew.note(&slow, "pids");
    crew.wait_for_status(&slow, "running");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    assert!(crew.has_workers(&slow));
}

#[test]
fn limits_are_logged_at_start_and_bad_values_once() {
    let crew = Crew::configured(&[
        "default_assignee: beta",
        "max_in_progress_per_profile: 2",
        "max_in_progress: 0",
        "dispatch_interval_seconds: 1",
    ]);
    let mut gateway = gateway(call(&crew, "default"));
    let card = crew.desk.create("nobody's", &[]);
    crew.script(&card, COMPLETE);
    crew.wait_for_status(&card, "done");
    let next = crew.file(COMPLETE, &[]);
    crew.wait_for_status(&next, "done");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    assert_eq!(crew.desk.json(&["show", &card])["task"]["assignee"], "beta");
    let own = log(&crew, "logs/gateway.log");
    let line = own
        .lines()
        .find(|line| line.contains("dispatching on all boards"));
    let line = line.unwrap();
    for part in [
        "Cards in progress: unlimited; per profile: 2",
        "Blocked after 2 failures",
        "Default assignee: beta",
    ] {
        assert!(line.contains(part), "{line}");
    }
    let all = log(&crew, "logs/agent.log");
    let complaints = all.matches("kanban.max_in_progress: 0 is invalid").count();
    assert_eq!(complaints, 1, "{all}");
}

#[test]
fn one_gateway_of_an_installation_dispatches_and_another_takes_over() {
    let crew = Crew::new();
    let mut first = gateway(call(&crew, "alpha"));
    let mut second = gateway(call(&crew, "beta"));
    let of_first = dispatcher_of(&crew, "profiles/alpha/gateway_state.json");
    assert_eq!(of_first["state"], "running");
    let of_second = dispatcher_of(&crew, "profiles/beta/gateway_state.json");
    assert_eq!(of_second["state"], "standby", "{of_second}");
    let card = crew.file("exec sleep 300", &[]);
    crew.note(&card, "pids");
    first.kill();
    until("the second to dispatch", || {
        let now = dispatcher_of(&crew, "profiles/beta/gateway_state.json");
        (now["state"] == "running").then_some(())
    });
    let next = crew.file(COMPLETE, &[]);
    crew.wait_for_status(&next, "done");
    assert_eq!(crew.groups(&card).len(), 1);
    assert_eq!(crew.desk.status(&card), "running");
    assert_eq!(end(&mut second, Signal::INT), Some(0));
}

#[test]
fn a_gateway_that_must_not_dispatch_leaves_cards_alone() {
    let crew = Crew::configured(&["dispatch_in_gateway: false"]);
    let mut gateway = gateway(call(&crew, "default"));
    let dispatcher = dispatcher_of(&crew, "gateway_state.json");
    assert_eq!(dispatcher["state"], "standby");
    // Another dispatcher may.
    let card = crew.file(COMPLETE, &[]);
    let report = crew.dispatch(&[]);
    assert_eq!(report["spawned"].as_array().unwrap().len(), 1);
    crew.wait_for_status(&card, "done");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}

#[test]
fn workers_know_nothing_of_the_supervisor_and_look_like_nobodys_agent() {
    let crew = Crew::new();
    let supervised = call(&crew, "default")
        .env("NOTIFY_SOCKET", "/nowhere")
        .env("INVOCATION_ID", "x")
        .env("WATCHDOG_USEC", "1000000");
    let mut gateway = gateway(supervised);
    // A command that an agent may not call.
    let script = format!("\"$HERMES_REAL\" config set approvals.mode off && {COMPLETE}");
    let card = crew.file(&script, &[]);
    crew.wait_for_status(&card, "done");
    let env = crew.note(&card, "env");
    for name in [
        "NOTIFY_SOCKET",
        "INVOCATION_ID",
        "WATCHDOG_USEC",
        "HERMES_AGENT_SHELL",
    ] {
        let prefix = format!("{name}=");
        assert!(!env.lines().any(|line| line.starts_with(&prefix)), "{env}");
    }
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}

#[test]
fn a_killed_gateway_loses_no_card_and_doubles_none() {
    let crew = Crew::new();
    let mut cards = Vec::new();
    let mut running = gateway(call(&crew, "default"));
    for round in 0..10_u64 {
        for _ in 0..3 {
            cards.push(crew.file(&format!("sleep 0.3; {COMPLETE}"), &[]));
        }
        // At another moment of the dispatcher's work each time.
        std::thread::sleep(Duration::from_millis(round * 7));
        running.kill();
        running = gateway(call(&crew, "default"));
    }
    for card in &cards {
        crew.wait_for_status(card, "done");
        let outcomes = crew.outcomes(card);
        let completed = outcomes.iter().filter(|one| **one == "completed").count();
        assert_eq!(completed, 1, "{card}: {outcomes:?}");
        // An attempt has one worker, or none if the gateway died before it could start one.
        let workers = crew.groups(card).len();
        assert!(
            (1..=outcomes.len()).contains(&workers),
            "{card}: {outcomes:?}"
        );
    }
    crew.desk.kanban(&["diagnostics"]).succeeds();
    assert_eq!(end(&mut running, Signal::INT), Some(0));
}

#[test]
fn a_stopping_gateway_waits_for_a_model_as_long_as_it_may() {
    let answer = json!({"fanout": true, "tasks": [
        {"title": "one", "body": "b", "assignee": "alpha", "parents": []},
        {"title": "two", "body": "b", "assignee": "beta", "parents": [0]},
    ]});
    for (drain, is_split) in [("30", true), ("0", false)] {
        let answer = ScriptedAnswer::text(&answer.to_string()).after(Duration::from_secs(2));
        let server = ModelServer::always(answer);
        let agent = format!("agent: {{restart_drain_timeout: {drain}}}\n");
        let crew = splitting(&server, &format!("  auto_decompose_per_tick: 1\n{agent}"));
        let card = in_triage(&crew, 1, &[]).remove(0);
        let mut gateway = gateway(call(&crew, "default"));
        server.wait_for_questions(1);
        until("a turn in flight", || {
            let text = fs::read_to_string(crew.desk.home.path("gateway_state.json")).ok()?;
            let state: Value = serde_json::from_str(&text).ok()?;
            (state["active_agents"] == 1).then_some(())
        });
        assert_eq!(end(&mut gateway, Signal::USR1), Some(75));
        let status = if is_split { "todo" } else { "triage" };
        assert_eq!(crew.desk.status(&card), status, "{drain}");
        // What was cut off is told by the missing mark.
        assert_eq!(crew.desk.home.has(".clean_shutdown"), is_split, "{drain}");
    }
}

#[test]
fn a_worker_starts_at_once_when_a_card_is_created() {
    let crew = Crew::configured(&["dispatch_interval_seconds: 3600"]);
    let mut gateway = gateway(call(&crew, "default"));
    let mut latencies = Vec::new();
    for _ in 0..9 {
        // The tick that follows the last change must be over.
        std::thread::sleep(Duration::from_millis(300));
        let id = crew.desk.create("card", &["--assignee", "alpha"]);
        let created = Instant::now();
        let path = crew.desk.home.outside("crew").join(&id).join("pids");
        until("the worker", || path.exists().then_some(()));
        latencies.push(created.elapsed());
    }
    latencies.sort();
    let median = latencies[latencies.len() / 2];
    println!("from `kanban create` to a worker's first command: {median:?} (median of 9)");
    // On a busy machine, unoptimised; `scripts/bench` has the real limit.
    assert!(median < Duration::from_secs(2), "{latencies:?}");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}
