//! Processes in the background of a container, and a container that nobody uses for a while.

use std::time::{Duration, Instant};

use hermes_testkit::RealEngine;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::place::{Place, eventually, text};
use crate::talk::Talk;

fn start(talk: &mut Talk, args: Value) -> String {
    let result = talk.terminal(args);
    assert_eq!(result["exit_code"], 0, "{result}");
    text(&result, "session_id").to_owned()
}

fn poll(talk: &mut Talk, id: &str) -> Value {
    talk.call("process", json!({"action": "poll", "session_id": id}))
}

/// check 16
pub(crate) fn a_background_process_is_where_it_should_be_until_it_is_killed(engine: RealEngine) {
    let place = Place::on(engine);
    let mut talk = place.talk();
    talk.output("export OWN=yes");
    let id = place.only_id();
    let command = "pwd; echo $OWN; sleep 300; echo x";
    let begun = Instant::now();
    let process = start(
        &mut talk,
        json!({"command": command, "background": true, "workdir": "/etc"}),
    );
    // Not two seconds and more, as where an engine waits for streams that are still open.
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    eventually("it has said where it is", || {
        let log = talk.call("process", json!({"action": "log", "session_id": process}));
        text(&log, "output") == "/etc\nyes"
    });
    assert!(place.runs(&id, "sleep 300"));
    assert_eq!(text(&poll(&mut talk, &process), "status"), "running");
    assert_eq!(talk.output("pwd"), "/root", "the session is where it was");

    let killed = talk.call("process", json!({"action": "kill", "session_id": process}));
    assert_eq!(killed["status"], "killed", "{killed}");
    assert!(!place.runs(&id, "sleep 300"), "{:?}", place.processes(&id));
}

/// check 16
pub(crate) fn a_background_process_ends_by_itself_with_its_code(engine: RealEngine) {
    let place = Place::on(engine);
    let mut talk = place.talk();
    let command = "echo begun; for i in 1 2 3; do echo line $i; done; exit 7";
    let process = start(&mut talk, json!({"command": command, "background": true}));
    let wait = json!({"action": "wait", "session_id": process, "timeout": 20});
    let end = talk.call("process", wait);
    assert_eq!(
        (&end["status"], &end["exit_code"]),
        (&json!("exited"), &json!(7)),
        "{end}"
    );
    let log = talk.call("process", json!({"action": "log", "session_id": process}));
    assert_eq!(text(&log, "output"), "begun\nline 1\nline 2\nline 3");
}

/// Many at once, each killed alone: the others go on.
pub(crate) fn a_kill_reaches_one_background_process_and_all_it_started(engine: RealEngine) {
    let place = Place::on(engine);
    let mut talk = place.talk();
    talk.output("true");
    let id = place.only_id();
    let command =
        |n: u32| format!("setsid sleep {n}1 & (sleep {n}2 & sleep {n}3) & exec sleep {n}4");
    let processes: Vec<String> = [41, 42, 43]
        .into_iter()
        .map(|n| {
            start(
                &mut talk,
                json!({"command": command(n), "background": true}),
            )
        })
        .collect();
    for n in [41, 42, 43] {
        for part in 1..=4 {
            eventually("all run", || place.runs(&id, &format!("sleep {n}{part}")));
        }
    }
    let kill = json!({"action": "kill", "session_id": processes[1]});
    let killed = talk.call("process", kill);
    assert_eq!(killed["status"], "killed", "{killed}");
    assert!(!place.runs(&id, "sleep 42"), "{:?}", place.processes(&id));
    let others_run = || {
        for n in [41, 43] {
            for part in 1..=4 {
                assert!(place.runs(&id, &format!("sleep {n}{part}")), "{n}{part}");
            }
        }
    };
    others_run();
    // They live as long as the container, not as long as the process that started them.
    assert_eq!(talk.end(), Some(0));
    others_run();
}

/// check 36
pub(crate) fn an_idle_process_lets_go_and_the_container_stays(engine: RealEngine) {
    let place = Place::with(engine, json!({"lifetime_seconds": 2}));
    let mut talk = place.talk();
    talk.output("cd /tmp; export KEPT=1");
    let id = place.only_id();
    eventually("its connections are closed", || !place.is_attached(&id));
    assert_eq!(place.look(&id, "{{.State.Status}}"), "running");
    // Nobody holds the sandbox any more.
    assert_eq!(talk.output("pwd; echo $KEPT"), "/tmp\n1");
    assert_eq!(place.only_id(), id);
}

/// check 36
pub(crate) fn what_runs_is_not_idle(engine: RealEngine) {
    let place = Place::with(engine, json!({"lifetime_seconds": 2}));
    let mut talk = place.talk();
    let result = talk.terminal(json!({"command": "sleep 7; echo done", "timeout": 60}));
    assert_eq!(result["output"], "done", "{result}");
    let process = start(
        &mut talk,
        json!({"command": "sleep 400", "background": true}),
    );
    let id = place.only_id();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(6) {
        assert!(place.is_attached(&id), "let go while a process runs");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(text(&poll(&mut talk, &process), "status"), "running");
    let kill = json!({"action": "kill", "session_id": process});
    assert_eq!(talk.call("process", kill)["status"], "killed");
    eventually("let go when it is over", || !place.is_attached(&id));
}

/// check 36, in opt-out mode: the container goes and comes back.
pub(crate) fn an_idle_container_of_one_process_is_removed(engine: RealEngine) {
    let settings = json!({"lifetime_seconds": 2, "docker_persist_across_processes": false});
    let place = Place::with(engine, settings);
    let mut talk = place.talk();
    talk.output("cd /tmp; export KEPT=1; echo kept > /root/file");
    let id = place.only_id();
    eventually("it is removed", || place.ids().is_empty());
    assert_eq!(
        talk.output("pwd; echo $KEPT; cat /root/file"),
        "/tmp\n1\nkept"
    );
    assert_ne!(place.only_id(), id);
    assert_eq!(talk.end(), Some(0));
    assert_eq!(place.ids(), [] as [&str; 0]);
}
