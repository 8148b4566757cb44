//! Signals, exit codes and the last word in the state file.

use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::Value;

use crate::post::{Post, end, kill};

// services 19, gateway 11
#[test]
fn every_way_to_end_has_its_code_and_last_state() {
    for (signal, code, state, restart) in [
        (Signal::TERM, 1, "running", false),
        (Signal::INT, 0, "stopped", false),
        (Signal::USR1, 75, "stopped", true),
    ] {
        let post = Post::new();
        let mut gateway = post.gateway(&[]);
        assert_eq!(post.state()["gateway_state"], "running");
        assert_eq!(end(&mut gateway, signal), Some(code), "{signal:?}");
        let left = post.state();
        assert_eq!(left["gateway_state"], state, "{signal:?}");
        assert_eq!(left["restart_requested"], restart, "{signal:?}");
        assert_eq!(left["active_agents"], 0);
        assert!(!post.home.has("gateway.pid") && post.home.has(".clean_shutdown"));
        assert_eq!(post.home.read("gateway.lock"), "");
        // Nothing of it is wanted by anybody: only commands write that.
        assert_eq!(left.get("desired_state"), None);
    }
}

#[test]
fn stop_is_no_accident() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    let stopped = post.call(&["stop"]).run();
    stopped.succeeds().prints(&format!(
        "✓ Stopped the gateway of profile default (PID {})\n",
        gateway.pid()
    ));
    assert_eq!(gateway.wait().code(), Some(0));
    let left = post.state();
    assert_eq!(left["gateway_state"], "stopped");
    assert_eq!(left["desired_state"], "stopped");
    assert!(!post.home.has(".gateway-planned-stop.json"));
    let again = post.call(&["stop"]).run();
    again
        .exits(3)
        .prints("The gateway of profile default is not running\n");
}

#[test]
fn a_note_alone_stops_a_gateway_as_well() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    let identity = hermes_proc::identity_of(gateway.pid()).unwrap();
    let marker = hermes_home::GatewayMarker::PlannedStop;
    marker.write(&post.home.root(), &identity).unwrap();
    assert_eq!(gateway.wait().code(), Some(0));
    assert_eq!(post.state()["gateway_state"], "stopped");
}

#[test]
fn a_killed_gateway_is_not_running_and_the_next_one_starts() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    gateway.kill();
    assert_eq!(post.state()["gateway_state"], "running");
    post.call(&["status"])
        .run()
        .exits(3)
        .prints_part("✗ not running");
    let mut next = post.gateway(&[]);
    assert_eq!(post.recorded(), Some(next.pid().into()));
    assert_eq!(end(&mut next, Signal::INT), Some(0));
    let exits = post.call(&["status", "--json", "--deep"]).run();
    let exits = exits.exits(3).json()["exits"].clone();
    let codes: Vec<&Value> = exits
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["exit_code"])
        .collect();
    assert_eq!(codes, [&Value::from(0), &Value::Null]);
}

#[test]
fn an_unannounced_signal_is_explained_in_the_log() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    assert_eq!(end(&mut gateway, Signal::TERM), Some(1));
    let log = post.log();
    let line = log
        .lines()
        .find(|line| line.contains("nobody announced"))
        .unwrap();
    for part in ["signal=SIGTERM", "parent=", "parent_command=", "load="] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn hangup_and_a_changed_file_make_it_read_its_settings_again() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    let off = |state: &Value| state["services"]["dispatcher"]["state"] == "standby";
    post.configure("kanban: {dispatch_in_gateway: false}\n");
    post.until_state("the dispatcher to be off", off);
    post.configure("");
    post.until_state("the dispatcher to be on", |state| {
        state["services"]["dispatcher"]["state"] == "running"
    });
    let count = || post.log().matches("settings were read again").count();
    let before = count();
    kill(gateway.pid(), Signal::HUP);
    crate::post::until("the reload", || (count() > before).then_some(()));
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}

// services 11
#[test]
fn a_file_that_breaks_while_it_runs_changes_nothing_and_is_reported_once() {
    let post = Post::new();
    post.configure("kanban: {default_assignee: alpha}\n");
    let mut gateway = post.gateway(&[]);
    for broken in ["kanban: [\n", "kanban: [\n", "- a\n"] {
        post.home.put("config.yaml", broken);
        kill(gateway.pid(), Signal::HUP);
    }
    post.until_logged("the settings from before stay in effect");
    let status = post.call(&["status"]).run();
    status.exits(0).prints_part("dispatcher:  running");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}
