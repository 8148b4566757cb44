//! Processes that run on, on a remote host.

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::hosts::{RemoteWorld, busybox};
use hermes_testkit::eventually;

on_each_host!(
    a_process_is_started_at_once_and_killed_for_good,
    a_process_has_the_state_of_its_session,
    an_end_is_told_once,
    ends_of_every_kind_are_known,
    lines_are_watched,
    long_outputs_are_followed_at_their_end,
    what_has_no_input_cannot_be_written_to,
    processes_outlive_the_channels,
    the_file_says_that_it_is_not_a_process_of_this_machine,
);

fn start(host: &RemoteWorld, command: &str) -> Value {
    let result = host
        .world
        .call(json!({"command": command, "background": true}));
    assert_eq!(result["exit_code"], 0, "{result}");
    result
}

fn act(host: &RemoteWorld, args: Value) -> Value {
    host.world.process_in("main", args)
}

fn act_on(host: &RemoteWorld, started: &Value, action: &str) -> Value {
    act(
        host,
        json!({"action": action, "session_id": started["session_id"]}),
    )
}

fn sleep(n: u32) -> String {
    format!("sleep {}.{n}", std::process::id() % 100_000 + 2000)
}

fn a_process_is_started_at_once_and_killed_for_good(host: &RemoteWorld) {
    host.world.run("true");
    let begun = Instant::now();
    let command = format!("pwd; setsid {} & {}; echo x", sleep(1), sleep(2));
    let started = host.world.call(json!({
        "command": command, "background": true, "workdir": "/etc", "pty": true
    }));
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(started["output"], "Background process started");
    assert!(
        started["pty_note"].as_str().unwrap().contains("local"),
        "{started}"
    );
    assert!(host.remote.has_live_background());
    eventually("its output is fetched", || {
        act_on(host, &started, "poll")["output_preview"] == "/etc\n"
    });
    assert!(host.is_running(&sleep(1)) && host.is_running(&sleep(2)));
    let killed = act_on(host, &started, "kill");
    assert_eq!(killed["status"], "killed", "{killed}");
    assert_eq!(killed["exit_code"], -15, "{killed}");
    assert_eq!(killed["output"], "/etc\n");
    assert!(!host.is_running(&sleep(1)) && !host.is_running(&sleep(2)));
    assert!(!host.remote.has_live_background());
    assert_eq!(act_on(host, &started, "kill")["status"], "already_exited");
    let deaf = start(
        host,
        &format!("trap '' TERM; echo deaf; while :; do {}; done", sleep(3)),
    );
    eventually("it is deaf", || {
        act_on(host, &deaf, "poll")["output_preview"] == "deaf\n"
    });
    let killed = act_on(host, &deaf, "kill");
    assert_eq!(
        (&killed["status"], &killed["exit_code"]),
        (&json!("killed"), &json!(-9))
    );
    assert!(!host.is_running(&sleep(3)));
    let refused = host.world.call(json!({
        "command": "true", "background": true, "workdir": "/nope"
    }));
    assert_eq!(refused["exit_code"], 126);
    assert_eq!(refused["error"], "/nope: no such directory");
}

fn a_process_has_the_state_of_its_session(host: &RemoteWorld) {
    host.world
        .output("export A='it is'; f() { echo \"f $1\"; }; alias g='echo g'; cd /usr");
    let started = start(
        host,
        "echo \"$A\"; f x; g; pwd; echo $$; umask; kill -INT $$; echo not here",
    );
    let ended = act_on(host, &started, "wait");
    assert_eq!(ended["status"], "exited");
    assert_eq!(ended["exit_code"], 130);
    let umask = host.world.output("umask");
    let expected = format!("it is\nf x\ng\n/usr\n{}\n{umask}\n", started["pid"]);
    assert_eq!(ended["output"], expected.as_str());
    // What it changes is its own.
    assert_eq!(host.world.output("pwd"), "/usr");
}

fn an_end_is_told_once(host: &RemoteWorld) {
    let started = host.world.call(json!({
        "command": "echo done; exit 3", "background": true, "notify_on_complete": true
    }));
    assert_eq!(started["notify_on_complete"], true);
    host.world.idle();
    let notices = host.world.notices();
    assert_eq!(notices.len(), 1);
    let message = notices[0].message();
    assert!(
        message.contains("(exit code 3)") && message.contains("done"),
        "{message}"
    );
    assert!(host.world.notices().is_empty());
}

fn ends_of_every_kind_are_known(host: &RemoteWorld) {
    for (command, code, output) in [
        ("exec sh -c 'echo replaced; exit 4'", 4, "replaced\n"),
        ("trap 'echo bye' EXIT; exit 5", 5, "bye\n"),
        ("kill -9 $$", 137, ""),
        ("printf 'no newline'", 0, "no newline"),
        ("printf 'a\\377b\\n'; false", 1, "a\u{fffd}b\n"),
        ("nonsense-program", 127, ""),
    ] {
        let started = start(host, command);
        let ended = act_on(host, &started, "wait");
        assert_eq!(ended["exit_code"], code, "{command}: {ended}");
        assert_eq!(ended["completion_reason"], "exited");
        if code != 127 {
            assert_eq!(ended["output"], output, "{command}");
        }
    }
    let log = act_on(host, &start(host, "seq 5; sleep 0.2; seq 6 9"), "wait");
    assert_eq!(log["output"], "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let list = act(host, json!({"action": "list"}));
    assert_eq!(list["processes"].as_array().unwrap().len(), 7, "{list}");
}

fn lines_are_watched(host: &RemoteWorld) {
    let started = host.world.call(json!({
        "command": "echo starting; sleep 0.3; echo server READY now; sleep 300",
        "background": true,
        "watch_patterns": ["READY"],
    }));
    let mut notices = Vec::new();
    eventually("the line is told", || {
        notices.extend(host.world.notices());
        !notices.is_empty()
    });
    assert!(
        notices[0].output.contains("server READY now"),
        "{notices:?}"
    );
    assert_eq!(act_on(host, &started, "kill")["status"], "killed");
    assert!(host.world.notices().is_empty());
}

fn long_outputs_are_followed_at_their_end(host: &RemoteWorld) {
    let started = start(host, "seq 300000; echo the end");
    let ended = act_on(host, &started, "wait");
    let output = ended["output"].as_str().unwrap();
    assert!(output.ends_with("300000\nthe end\n"), "{output}");
    let log = act(
        host,
        json!({"action": "log", "session_id": started["session_id"], "limit": 2}),
    );
    assert_eq!(log["output"], "300000\nthe end");
    let file = format!("/tmp/hermes_bg_{}", started["session_id"].as_str().unwrap());
    assert_eq!(host.file(&format!("{file}.exit")), "0\n");
    assert_eq!(
        host.file(&format!("{file}.pid")),
        format!("{}\n", started["pid"])
    );
    assert_eq!(
        host.world
            .output(&format!("stat -c %a {file}.* | sort -u; rm {file}.*")),
        "600"
    );
}

fn what_has_no_input_cannot_be_written_to(host: &RemoteWorld) {
    let started = start(host, "cat; sleep 300");
    for action in ["write", "submit", "close"] {
        let answer = act_on(host, &started, action);
        assert_eq!(answer["status"], "error");
        assert!(
            answer["error"].as_str().unwrap().contains("local"),
            "{answer}"
        );
    }
    let waited = act(
        host,
        json!({"action": "wait", "session_id": started["session_id"], "timeout": 1}),
    );
    assert_eq!(waited["status"], "timeout");
    assert_eq!(act_on(host, &started, "kill")["status"], "killed");
}

fn processes_outlive_the_channels(host: &RemoteWorld) {
    let marker = format!("{}/alive", host.scratch);
    let started = start(
        host,
        &format!("sleep 1; echo said; sleep 1; echo still > {marker}; sleep 300"),
    );
    let result = host
        .world
        .call(json!({"command": "sleep 60", "timeout": 1}));
    assert_eq!(result["exit_code"], 124);
    host.remote.detach();
    eventually("it goes on", || host.file(&marker) == "still\n");
    assert_eq!(act_on(host, &started, "poll")["output_preview"], "said\n");
    assert_eq!(act_on(host, &started, "kill")["status"], "killed");
}

fn the_file_says_that_it_is_not_a_process_of_this_machine(host: &RemoteWorld) {
    let started = start(host, "sleep 300");
    let path = host.world.path("home/processes.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let entries: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(entries[0]["session_id"], started["session_id"]);
    assert_eq!(entries[0]["pid_scope"], "sandbox");
    assert_eq!(entries[0]["pid"], started["pid"]);
    assert_eq!(act_on(host, &started, "kill")["status"], "killed");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "[]\n");
}

#[test]
fn busybox_has_background_processes() {
    let host = busybox();
    host.world.output("export A=1; cd /usr");
    let started = start(&host, &format!("echo $A; pwd; {}; echo x", sleep(41)));
    eventually("its output is fetched", || {
        act_on(&host, &started, "poll")["output_preview"] == "1\n/usr\n"
    });
    assert_eq!(act_on(&host, &started, "kill")["status"], "killed");
    assert!(!host.is_running(&sleep(41)));
    let ended = act_on(&host, &start(&host, "exit 6"), "wait");
    assert_eq!(ended["exit_code"], 6);
    let ended = act_on(&host, &start(&host, "exec sh -c 'exit 8'"), "wait");
    assert_eq!(ended["exit_code"], 8);
}

mod docker_gone {
    use std::process::Command;

    use pretty_assertions::assert_eq;

    use super::{act_on, start};
    use crate::remote::hosts::docker;
    use hermes_testkit::eventually;

    #[test]
    fn processes_of_a_place_that_is_gone_are_lost() {
        let host = docker();
        let started = start(&host, "echo begun; sleep 300");
        eventually("it has begun", || {
            act_on(&host, &started, "poll")["output_preview"] == "begun\n"
        });
        let removed = Command::new("docker")
            .args(["rm", "-f", &host.container().name])
            .output()
            .unwrap();
        assert!(removed.status.success());
        eventually("its end is known", || {
            act_on(&host, &started, "poll")["status"] == "exited"
        });
        let ended = act_on(&host, &started, "poll");
        assert_eq!(ended["completion_reason"], "lost");
        assert_eq!(ended["exit_code"], -1);
        assert!(!host.remote.has_live_background());
    }
}
