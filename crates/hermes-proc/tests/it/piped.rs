//! Children whose pipes the caller reads.

use std::io::{Read, Write};
use std::time::Duration;

use hermes_proc::{
    ChildSpec, Error, ExitStatus, Group, KillTiming, Streams, identity_of, is_same_live_process,
};

use crate::{eventually, plan, read_pid};

fn script(text: &str, mark: &str) -> ChildSpec {
    let env = plan(&[("PATH", "/usr/bin:/bin")]).with("HERMES_EXEC_ID", mark);
    ChildSpec {
        cwd: Some(std::env::temp_dir()),
        group: Group::Session,
        ends_with_thread: true,
        ..ChildSpec::new("/bin/sh", ["-c", text], env)
    }
}

fn timing(grace: Duration) -> KillTiming {
    KillTiming {
        grace,
        ..KillTiming::default()
    }
}

#[test]
fn both_pipes_and_the_status_come_through() {
    let mut child = script("echo out; echo err >&2; exit 3", "a")
        .spawn()
        .unwrap();
    let mut text = String::new();
    for pipe in [child.take_stdout(), child.take_stderr()] {
        std::fs::File::from(pipe.unwrap())
            .read_to_string(&mut text)
            .unwrap();
    }
    assert_eq!(text, "out\nerr\n");
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn killing_reaches_a_grandchild_in_a_session_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let mark = dir.path().to_str().unwrap();
    // The middle shell ends at once: neither the group nor parent links lead to the sleeper.
    let text = format!(
        "setsid sh -c 'sleep 300 & echo $! > {0}.new; mv {0}.new {0}' & wait; sleep 300",
        pid_file.display()
    );
    let mut child = script(&text, mark).spawn().unwrap();
    eventually("the sleeper runs", || read_pid(&pid_file).is_some());
    let sleeper = identity_of(read_pid(&pid_file).unwrap()).unwrap();
    let leader = identity_of(child.pid()).unwrap();
    let status = child.kill_tree(timing(Duration::from_secs(5))).unwrap();
    assert!(!status.success());
    assert!(!is_same_live_process(&sleeper));
    assert!(!is_same_live_process(&leader));
}

#[test]
fn one_that_ignores_sigterm_is_killed_after_the_grace() {
    let dir = tempfile::tempdir().unwrap();
    let ready = dir.path().join("pid");
    let text = format!(
        "trap '' TERM; echo $$ > {}; while :; do sleep 300; done",
        ready.display()
    );
    let mark = dir.path().to_str().unwrap();
    let mut child = script(&text, mark).spawn().unwrap();
    eventually("the trap is set", || read_pid(&ready).is_some());
    let status = child.kill_tree(timing(Duration::from_millis(50))).unwrap();
    assert_eq!(status, ExitStatus::Signalled(9));
}

#[test]
fn missing_directory_differs_from_missing_program() {
    let mut spec = script("true", "b");
    spec.cwd = Some("/no/such/place".into());
    assert!(matches!(spec.spawn(), Err(Error::MissingDirectory { .. })));
    let mut spec = script("true", "b");
    spec.program = "/no/such/program".into();
    assert!(matches!(spec.spawn(), Err(Error::Start { .. })));
}

#[test]
fn debug_shows_names_only() {
    let shown = format!("{:?}", script("true", "hunter2"));
    assert!(
        shown.contains("HERMES_EXEC_ID") && !shown.contains("hunter2"),
        "{shown}"
    );
}

#[test]
fn a_child_with_input_outlives_its_thread_and_ends_with_its_input() {
    let mut child = std::thread::spawn(|| {
        let spec = ChildSpec {
            streams: Streams::Pipes { input: true },
            ends_with_thread: false,
            ..script("read line; echo \"$line\"; cat", "f")
        };
        spec.spawn().unwrap()
    })
    .join()
    .unwrap();
    let input = child.take_stdin().unwrap();
    std::fs::File::from(input).write_all(b"one\ntwo\n").unwrap();
    let mut text = String::new();
    std::fs::File::from(child.take_stdout().unwrap())
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "one\ntwo\n");
    assert!(child.wait().unwrap().success());
}
