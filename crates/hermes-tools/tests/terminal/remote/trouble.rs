//! Clients that die, streams that make no sense, places that are gone.

use std::process::Command;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use hermes_terminal::remote::RemoteSettings;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::hosts::{Hurdle, RemoteWorld};
use hermes_testkit::eventually;

on_each_host!(
    a_client_that_dies_takes_its_command_along,
    a_loop_that_dies_takes_its_command_along,
);

/// Clients of this process whose arguments hold this text.
fn clients(text: &str) -> Vec<u32> {
    let me = std::process::id();
    let output = Command::new("ps")
        .args(["-o", "pid=", "--ppid", &me.to_string()])
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .filter(|pid| {
            hermes_proc::command_line(*pid)
                .unwrap_or_default()
                .iter()
                .any(|word| word.to_string_lossy().contains(text))
        })
        .collect()
}

fn kill(pid: u32) {
    let status = Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(status.unwrap().success());
}

fn a_client_that_dies_takes_its_command_along(host: &RemoteWorld) {
    host.world.run("true");
    let count = format!("{}/count", host.scratch);
    let sleep = format!("sleep {}.81", std::process::id() % 100_000 + 3000);
    let result = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            host.world.run(&format!(
                "echo before; echo ran >> {count}; {sleep} & {sleep}"
            ))
        });
        eventually("it runs", || host.file(&count) == "ran\n");
        for client in clients("hello") {
            kill(client);
        }
        run.join().unwrap()
    });
    assert_eq!(result["exit_code"], -1, "{result}");
    assert_eq!(result["output"], "before");
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains("lost the connection") && error.contains("was stopped"),
        "{error}"
    );
    assert!(!host.is_running(&sleep));
    assert_eq!(host.file(&count), "ran\n");
    assert_eq!(host.world.output("echo again"), "again");
}

fn a_loop_that_dies_takes_its_command_along(host: &RemoteWorld) {
    host.world.run("true");
    let sleep = format!("sleep {}.82", std::process::id() % 100_000 + 3000);
    let begun = Instant::now();
    let result = host
        .world
        .run(&format!("echo before; kill -9 $PPID; {sleep}"));
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(result["exit_code"], -1, "{result}");
    assert_eq!(result["output"], "before");
    assert!(!host.is_running(&sleep));
    assert_eq!(host.world.output("echo again"), "again");
}

/// The processes below one, whose arguments hold this text.
fn below(parent: u32, text: &str) -> Vec<u32> {
    let output = Command::new("pgrep")
        .args(["-P", &parent.to_string(), "-f", text])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    printed
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

#[test]
fn a_guard_that_dies_is_replaced() {
    let host = super::hosts::bash();
    host.world.run("true");
    let guards = || -> Vec<u32> {
        let channels = clients("hello").into_iter();
        channels
            .flat_map(|channel| below(channel, "members"))
            .collect()
    };
    for _ in 0..2 {
        let sleep = format!("sleep {}.83", std::process::id() % 100_000 + 3000);
        let command = format!("setsid {sleep} & wait");
        let result = std::thread::scope(|scope| {
            let run = scope.spawn(|| host.world.call(json!({"command": command, "timeout": 2})));
            eventually("it runs", || host.is_running(&sleep));
            let found = guards();
            assert_eq!(found.len(), 1, "{found:?}");
            kill(found[0]);
            run.join().unwrap()
        });
        assert_eq!(result["exit_code"], 124, "{result}");
        assert!(!host.is_running(&sleep));
    }
    for guard in guards() {
        kill(guard);
    }
    assert_eq!(host.world.output("echo again"), "again");
}

#[test]
fn control_that_dies_is_replaced() {
    let host = super::hosts::bash();
    host.world.run("true");
    let sleep = format!("sleep {}.84", std::process::id() % 100_000 + 3000);
    let start = json!({"command": format!("setsid {sleep} & wait"), "background": true});
    for _ in 0..2 {
        let started = host.world.call(start.clone());
        eventually("it runs", || host.is_running(&sleep));
        let channels = clients("hello");
        let control = clients("members()");
        let control: Vec<u32> = control
            .into_iter()
            .filter(|client| !channels.contains(client))
            .collect();
        assert_eq!(control.len(), 1, "{control:?}");
        kill(control[0]);
        let kill = json!({"action": "kill", "session_id": started["session_id"]});
        let killed = host.world.process_in("main", kill);
        assert_eq!(killed["status"], "killed", "{killed}");
        assert!(!host.is_running(&sleep));
    }
}

#[test]
fn what_looks_like_a_record_is_none() {
    let host = RemoteWorld::behind(Hurdle::Garbage, RemoteSettings::default());
    let mut kept = "none".to_owned();
    for n in 0..20 {
        let output = host
            .world
            .output(&format!("echo \"{n}:${{A-none}}\"; export A={n}"));
        let (ran, state) = output.split_once(':').unwrap();
        assert_eq!(ran, n.to_string());
        // A report with something in between changes nothing; half of it is not taken for all.
        assert!(
            state == kept || state == (n - 1).to_string(),
            "{output} {kept}"
        );
        kept = state.to_owned();
    }
    // A command that prints what the loop prints changes nothing either.
    let text = host
        .world
        .output("printf 'n0b\\0nX\\0end\\0000\\0' ; printf 'n0e' >&2; echo");
    assert!(text.ends_with("n0e"), "{text}");
}

#[test]
fn a_busy_place_is_tried_again_and_then_given_up() {
    let host = RemoteWorld::behind(Hurdle::Busy(AtomicUsize::new(2)), RemoteSettings::default());
    assert_eq!(host.world.output("echo at last"), "at last");
    let host = RemoteWorld::behind(Hurdle::Busy(AtomicUsize::new(9)), RemoteSettings::default());
    let result = host.world.run("echo never");
    assert_eq!(
        result,
        json!({
            "output": "", "exit_code": -1, "status": "error",
            "error": "Failed to execute command: the host is busy (open it)",
        })
    );
    let launched = host.launches();
    // Four attempts, and as many for control.
    assert!(launched <= 8, "{launched}");
}

#[test]
fn a_refusal_is_told_in_its_own_words() {
    let host = RemoteWorld::behind(Hurdle::Refused, RemoteSettings::default());
    let result = host.world.run("echo never");
    assert_eq!(result["exit_code"], -1);
    assert_eq!(
        result["error"],
        "Failed to execute command: the host is closed (open it)"
    );
    let started = host
        .world
        .call(json!({"command": "true", "background": true}));
    assert_eq!(started["exit_code"], -1);
    assert!(
        started["error"].as_str().unwrap().contains("closed"),
        "{started}"
    );
    assert!(!host.remote.has_live_background());
}

#[test]
fn a_place_that_never_greets_can_be_left() {
    let settings = RemoteSettings {
        open_limit: Duration::from_millis(300),
        ..RemoteSettings::default()
    };
    let host = RemoteWorld::behind(Hurdle::Deaf, settings);
    let result = host.world.run("echo never");
    assert_eq!(result["exit_code"], -1);
    assert!(
        result["error"].as_str().unwrap().contains("did not answer"),
        "{result}"
    );
    let host = RemoteWorld::behind(Hurdle::Deaf, RemoteSettings::default());
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| host.world.run("echo never"));
        eventually("a client waits", || !clients("300").is_empty());
        host.world.interrupt.raise();
        let result = run.join().unwrap();
        assert_eq!(result["exit_code"], 130);
        assert_eq!(result["output"], "[Command interrupted]");
    });
    assert!(begun.elapsed() < Duration::from_secs(15));
}

#[test]
fn a_broken_login_shell_is_done_without() {
    let host = super::hosts::bash();
    let profile = format!("{}/.bash_profile", host.scratch);
    for text in [
        "exit 3",
        "exec sleep 0",
        "echo noise; export FROM_LOGIN=1; cd /; cat",
        "kill -9 $$",
    ] {
        std::fs::write(&profile, text).unwrap();
        let result = host
            .world
            .call_in(text, json!({"command": "echo ${FROM_LOGIN-none}; pwd"}));
        let expected = if text.contains("FROM_LOGIN") {
            "1"
        } else {
            "none"
        };
        assert_eq!(
            result["output"],
            format!("{expected}\n{}", host.scratch),
            "{text}"
        );
    }
}

/// These need a container that comes and goes, and a Hermes that is killed.
mod docker_lost {
    use std::process::Command;

    use pretty_assertions::assert_eq;

    use crate::remote::hosts::docker;
    use hermes_testkit::eventually;

    #[test]
    fn a_container_that_was_removed_is_brought_back_and_the_command_runs_once() {
        let host = docker();
        host.world.output("export KEPT=1; cd /usr");
        let removed = Command::new("docker")
            .args(["rm", "-f", &host.container().name])
            .output()
            .unwrap();
        assert!(removed.status.success());
        let result = host.world.run("echo ran >> /root/count; echo $KEPT; pwd");
        assert_eq!(result["output"], "1\n/usr", "{result}");
        assert_eq!(host.file("/root/count"), "ran\n");
    }

    #[test]
    fn foreground_dies_with_hermes_and_background_does_not() {
        let host = docker();
        let name = &host.container().name;
        let mut hermes = Command::new(hermes_testkit::helper_program("tools-test-process"))
            .args(["in-container", name])
            .spawn()
            .unwrap();
        for file in ["/root/job", "/root/deaf"] {
            eventually(file, || host.file(file) == "x\n");
        }
        for sleep in ["600.1", "600.2", "600.3", "600.5"] {
            eventually(sleep, || host.is_running(&format!("sleep {sleep}")));
        }
        hermes.kill().unwrap();
        hermes.wait().unwrap();
        eventually("nothing of the foreground is left", || {
            ["600.1", "600.2", "600.3"]
                .iter()
                .all(|sleep| !host.is_running(&format!("sleep {sleep}")))
        });
        assert!(host.is_running("sleep 600.5"));
        // Not even the loops are left.
        eventually("no loop is left", || !host.is_running("_h_n"));
    }
}
