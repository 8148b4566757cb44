//! `start`, `restart`, `list`, `status` without a service manager.

use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::post::{Post, end, kill, until};

fn pid_of(post: &Post) -> u32 {
    u32::try_from(post.recorded().unwrap()).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn start_leaves_a_gateway_that_is_ready() {
    let post = Post::new();
    let started = post.call(&["start"]).run();
    let pid = pid_of(&post);
    started.succeeds().prints(&format!(
        "✓ Started the gateway of profile default (PID {pid})\n"
    ));
    let state = post.state();
    assert_eq!(state["gateway_state"], "running");
    assert_eq!(state["desired_state"], "running");
    assert_eq!(post.home.mode("gateway_state.json"), 0o600);
    assert_eq!(post.home.mode("gateway.pid"), 0o600);
    // Its own session: a terminal that closes does not end it.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let session = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .nth(3)
        .unwrap();
    assert_eq!(session, pid.to_string());
    post.call(&["start"]).run().succeeds().prints(&format!(
        "The gateway of profile default is already running (PID {pid})\n"
    ));
    post.call(&["stop"]).run().succeeds();
    until("its end", || {
        hermes_proc::identity_of(pid).is_none().then_some(())
    });
}

#[test]
fn restart_starts_another_process_or_the_first() {
    let post = Post::new();
    post.call(&["restart"])
        .run()
        .succeeds()
        .prints_part("✓ Started");
    let first = pid_of(&post);
    post.call(&["restart"])
        .run()
        .succeeds()
        .prints_part("✓ Restarted");
    let second = pid_of(&post);
    assert_ne!(first, second);
    let record = post.call(&["status", "--json", "--deep"]).run();
    let exits = record.succeeds().json()["exits"].clone();
    assert_eq!(exits[0]["exit_code"], 75);
    assert_eq!(exits[0]["pid"], first);
}

#[test]
fn a_broken_configuration_does_not_cost_the_gateway_that_runs() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    post.home.put("config.yaml", "terminal: [\n");
    let message = format!(
        "config.yaml cannot be used, so the gateway (PID {}) was not restarted",
        gateway.pid()
    );
    post.call(&["restart"]).run().exits(1).says_part(&message);
    assert_eq!(post.recorded(), Some(gateway.pid().into()));
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}

#[test]
fn restart_leaves_a_supervised_gateway_to_its_supervisor() {
    let post = Post::new();
    // A supervisor as simple as they come.
    let script = "while :; do \"$0\" \"$@\"; test $? = 75 || exit; done";
    let call = post.call(&["run", "--external-supervisor"]);
    let supervisor = crate::post::ready(call.wrapped(["sh", "-c", script]).start());
    let first = pid_of(&post);
    assert_eq!(post.state()["supervised"], true);
    post.call(&["restart"])
        .run()
        .succeeds()
        .prints_part("✓ Restarted");
    let second = pid_of(&post);
    assert_ne!(first, second);
    let parent = std::fs::read_to_string(format!("/proc/{second}/stat")).unwrap();
    let parent = parent
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .nth(1)
        .unwrap();
    assert_eq!(parent, supervisor.pid().to_string());
    post.call(&["stop"]).run().succeeds();
}

// services 11
#[test]
fn a_broken_configuration_is_fatal_and_says_so() {
    let post = Post::new();
    for broken in ["terminal: [\n", "- a\n"] {
        post.home.put("config.yaml", broken);
        post.call(&["run"])
            .run()
            .exits(78)
            .says_part("config.yaml cannot be used");
        let state = post.state();
        assert_eq!(state["gateway_state"], "startup_failed");
        let reason = state["exit_reason"].as_str().unwrap();
        assert!(
            reason.starts_with("config.yaml cannot be used: "),
            "{reason}"
        );
        post.call(&["start"])
            .run()
            .exits(1)
            .says_part("the gateway did not start: config.yaml cannot be used: ")
            .says_part("`hermes config check` shows the line");
        assert!(!post.home.has("gateway.pid"));
        let doctor = post.home.run(["doctor", "--json"]).exits(1).json();
        let rows = doctor["rows"].as_array().unwrap().clone();
        let row = rows.iter().find(|row| row["id"] == "gateway").unwrap();
        assert_eq!(row["status"], "problem");
    }
}

#[test]
fn status_and_list_show_all_profiles() {
    let post = Post::new();
    post.home.run(["profile", "create", "coder"]).succeeds();
    post.call(&["list"])
        .run()
        .succeeds()
        .prints("  ✗ default (current) — not running\n  ✗ coder — not running\n");
    let mut gateway =
        crate::post::ready(post.home.hermes(["-p", "coder", "gateway", "run"]).start());
    let pid = gateway.pid();
    post.call(&["list"]).run().succeeds().prints(&format!(
        "  ✗ default (current) — not running\n  ✓ coder — PID {pid}\n"
    ));
    let list = post.call(&["list", "--json"]).run().succeeds().json();
    assert_eq!(
        keys(&list[1]),
        [
            "name",
            "current",
            "running",
            "pid",
            "other_host",
            "gateway_state",
            "desired_state"
        ]
    );
    assert_eq!(
        (&list[1]["pid"], &list[1]["gateway_state"]),
        (&json!(pid), &json!("running"))
    );
    let status = post.call(&["status", "--json"]).run().exits(3).json();
    assert_eq!(
        keys(&status),
        [
            "profile",
            "manager",
            "service_installed",
            "service_running",
            "service_scope",
            "running",
            "pids",
            "other_host",
            "mismatch",
            "state",
            "desired_state",
            "other_profiles"
        ]
    );
    assert_eq!(
        status["other_profiles"],
        json!([{"name": "coder", "pid": pid}])
    );
    let whole = post.home.run(["status", "--json"]).succeeds().json();
    assert_eq!(whole["gateways"][1]["pid"], pid);
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}

#[test]
fn the_bare_command_runs_the_gateway() {
    let post = Post::new();
    let mut gateway = crate::post::ready(post.call(&[]).start());
    assert_eq!(post.recorded(), Some(gateway.pid().into()));
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}

#[test]
fn the_log_is_printed_as_far_as_asked_for() {
    for (flags, warnings, information) in [
        (vec![], true, false),
        (vec!["-v"], true, true),
        (vec!["-q"], false, false),
    ] {
        let post = Post::new();
        let mut gateway = post.call(&[&["run"][..], &flags].concat()).start();
        post.until_state("to run", |state| state["gateway_state"] == "running");
        assert_eq!(end(&mut gateway, Signal::TERM), Some(1));
        let said = until("the end of what it says", || {
            let said = gateway.errors().join("\n");
            (said.contains("nobody announced") || !warnings).then_some(said)
        });
        assert_eq!(said.contains("nobody announced"), warnings, "{flags:?}");
        assert_eq!(said.contains("gateway starting"), information, "{flags:?}");
    }
}

// services 9
#[test]
fn a_profile_is_deleted_with_its_gateway() {
    let post = Post::new();
    post.home.run(["profile", "create", "coder"]).succeeds();
    post.home
        .run(["-p", "coder", "gateway", "start"])
        .succeeds();
    let pid = hermes_home::gateway_pid(&post.home.path("profiles/coder")).unwrap();
    post.home
        .run(["profile", "delete", "coder", "--yes"])
        .succeeds();
    until("its end", || {
        hermes_proc::identity_of(pid).is_none().then_some(())
    });
    assert!(!post.home.has("profiles/coder"));
    assert!(!post.home.alias_dir().join("coder").exists());
}

#[test]
fn stop_all_stops_every_gateway_of_the_user() {
    let post = Post::new();
    post.home.run(["profile", "create", "coder"]).succeeds();
    let elsewhere = post.home.outside("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    // In a process table of its own: other tests have gateways, too.
    let script = r#"
"$H" gateway start && "$H" -p coder gateway start && HERMES_HOME="$E" "$H" gateway start
"$H" gateway stop --all
echo "code $?"
"$H" gateway stop --all
echo "code $?"
"#;
    let output = post
        .home
        .hermes(["-c", script])
        .program("/bin/sh")
        .env("H", post.home.program())
        .env("E", &elsewhere)
        .in_own_process_table()
        .run();
    let text = output.succeeds().stdout.clone();
    let stopped: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("✓ Stopped"))
        .collect();
    assert_eq!(stopped.len(), 3, "{text}");
    assert!(text.ends_with("No gateway is running\ncode 3\n"), "{text}");
    assert!(text.contains("code 0\n"), "{text}");
    assert_eq!(post.state()["gateway_state"], "stopped");
    assert_eq!(post.state()["desired_state"], "stopped");
}

#[test]
fn an_agent_does_not_start_a_gateway() {
    let post = Post::new();
    for verb in ["run", "start", "restart"] {
        let call = post.call(&[verb]).env("HERMES_AGENT_SHELL", "1");
        call.run()
            .refuses(1, "starting a gateway is refused in an agent's shell");
    }
    assert!(!post.home.has("gateway.lock"));
}

#[test]
fn doctor_names_a_gateway_that_should_be_running() {
    let post = Post::new();
    post.call(&["start"]).run().succeeds();
    kill(pid_of(&post), Signal::KILL);
    until("its end", || {
        hermes_home::gateway_pid(&post.home.root())
            .is_none()
            .then_some(())
    });
    let doctor = post.home.run(["doctor", "--json"]).json();
    let rows = doctor["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == "gateway").unwrap();
    assert_eq!(row["status"], "warning");
    assert_eq!(
        row["text"],
        "default: the gateway should be running, but is not"
    );
}
