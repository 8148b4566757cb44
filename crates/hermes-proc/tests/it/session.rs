//! Session leaders, their trees and their terminals.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use hermes_proc::{
    Child, ChildSpec, ExitStatus, Group, KillTiming, ProcessTree, Pty, Streams, kill_tree,
    start_time_of,
};
use pretty_assertions::assert_eq;

use super::{eventually, read_pid};

/// Of this test alone: what carries the mark of a tree is killed with it, whoever started it.
fn mark() -> String {
    let thread = format!("{:?}", std::thread::current().id());
    let process = std::process::id();
    let digits: String = thread.chars().filter(char::is_ascii_digit).collect();
    format!("{process:0>10}{digits:0>6}")
}

fn start(script: &str, cwd: &Path, streams: Streams) -> Child {
    let variables: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("HERMES_EXEC_ID".into(), mark().into()),
    ];
    let spec = ChildSpec {
        cwd: Some(cwd.to_owned()),
        streams,
        group: Group::Session,
        ends_with_thread: true,
        ..ChildSpec::new("/bin/sh", ["-c", script], variables.as_slice())
    };
    spec.spawn().unwrap()
}

fn quiet() -> Streams {
    Streams::Given {
        input: None,
        output: None,
    }
}

fn tree(child: &Child, leader_is_ours: bool) -> ProcessTree {
    ProcessTree {
        leader_is_ours,
        ..child.tree()
    }
}

fn lives(pid: u32) -> bool {
    start_time_of(pid).is_some() && !hermes_proc::is_zombie(pid)
}

#[test]
fn a_leader_has_its_own_session_and_only_what_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let handed_over = std::fs::File::open("/dev/null").unwrap();
    let number = handed_over.as_raw_fd();
    let _kept = std::fs::File::open("/dev/null").unwrap();
    let script = "cut -d' ' -f5,6 /proc/self/stat; echo $$; env; ls /proc/$$/fd; pwd";
    let variables: &[(OsString, OsString)] = &[("ONLY".into(), "this".into())];
    let spec = ChildSpec {
        cwd: Some(dir.path().to_owned()),
        streams: Streams::Given {
            input: None,
            output: Some(writer.into()),
        },
        group: Group::Session,
        inherited: vec![handed_over.into()],
        ends_with_thread: true,
        ..ChildSpec::new("/bin/sh", ["-c", script], variables)
    };
    let mut child = spec.spawn().unwrap();
    let pid = child.pid();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap(), ExitStatus::Exited(0));
    assert!(text.starts_with(&format!("{pid} {pid}\n{pid}\n")), "{text}");
    assert!(
        text.contains("ONLY=this\n") && !text.contains("HOME="),
        "{text}"
    );
    assert!(text.contains(&format!("\n0\n1\n2\n{number}\n")), "{text}");
    assert!(text.ends_with(&format!(
        "{}\n",
        dir.path().canonicalize().unwrap().display()
    )));
}

#[test]
fn exit_by_signal_differs_from_exit_code() {
    let end = |script| start(script, Path::new("/"), quiet()).wait().unwrap();
    assert_eq!(end("exit 3"), ExitStatus::Exited(3));
    assert_eq!(end("kill -9 $$").signed_code(), -9);
}

#[test]
fn kill_tree_reaches_every_process_whoever_reaps_the_leader() {
    for leader_is_ours in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = start(
            "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > a; while :; do sleep 1; done' & \
             (setsid sh -c '(echo $$ > b; exec sleep 60) &') ; env -i /bin/sleep 61 & echo $! > c; \
             while :; do sleep 1; done",
            dir.path(),
            quiet(),
        );
        let tree = tree(&child, leader_is_ours);
        for name in ["a", "b", "c"] {
            eventually(name, || read_pid(&dir.path().join(name)).is_some());
        }
        assert!(tree.members().len() >= 4);
        let timing = KillTiming {
            grace: Duration::from_millis(200),
            ..KillTiming::default()
        };
        let started = Instant::now();
        let outcome = kill_tree(&tree, timing);
        assert!(started.elapsed() < Duration::from_secs(2));
        assert_eq!(outcome.survivors, Vec::<u32>::new());
        assert!(outcome.forced);
        for name in ["a", "c"] {
            assert!(!lives(read_pid(&dir.path().join(name)).unwrap()), "{name}");
        }
        assert_eq!(tree.members(), Vec::<u32>::new());
        assert_eq!(child.wait().unwrap().signed_code(), -9);
    }
}

#[test]
fn tree_that_obeys_sigterm_is_not_killed() {
    let mut child = start(
        "trap 'exit 9' TERM; while :; do sleep 0.1; done",
        Path::new("/"),
        quiet(),
    );
    let tree = tree(&child, true);
    eventually("the trap is set", || tree.members().len() > 1);
    let outcome = kill_tree(&tree, KillTiming::default());
    assert_eq!(
        (outcome.survivors.as_slice(), outcome.forced),
        (&[] as &[u32], false)
    );
    assert_eq!(child.wait().unwrap(), ExitStatus::Exited(9));
}

#[test]
fn recycled_pid_is_never_signalled() {
    let mut child = start("sleep 60 & wait", Path::new("/"), quiet());
    let mut stranger = tree(&child, false);
    stranger.start_time -= 1;
    stranger.mark = "ffffffffffffffff".into();
    eventually("it runs", || tree(&child, true).members().len() == 2);
    assert_eq!(stranger.members(), Vec::<u32>::new());
    assert_eq!(
        kill_tree(&stranger, KillTiming::default()).survivors,
        Vec::<u32>::new()
    );
    assert!(lives(child.pid()));
    kill_tree(&tree(&child, true), KillTiming::default());
    child.wait().unwrap();
}

#[test]
fn a_terminal_has_its_size_and_becomes_the_controlling_one() {
    let mut pty = Pty::open(30, 120).unwrap();
    let streams = Streams::Terminal(pty.terminal);
    let mut child = start(
        "stty size; echo typed < /dev/tty; read x; echo got $x",
        Path::new("/"),
        streams,
    );
    pty.controller.write_all(b"word\n").unwrap();
    let mut text = Vec::new();
    // The last program on a terminal ends it with an error on our side.
    drop(pty.controller.read_to_end(&mut text));
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("30 120"), "{text}");
    assert!(text.contains("got word"), "{text}");
    assert_eq!(child.wait().unwrap(), ExitStatus::Exited(0));
}

#[test]
fn failed_start_names_the_reason_and_leaves_no_child() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    std::fs::write(&script, "echo no").unwrap();
    let attempt = |program: &Path, cwd: &Path, value: &str| {
        let variables: Vec<(OsString, OsString)> = vec![("NAME".into(), value.into())];
        let spec = ChildSpec {
            cwd: Some(cwd.to_owned()),
            streams: quiet(),
            group: Group::Session,
            ends_with_thread: true,
            ..ChildSpec::new(program, [] as [&str; 0], variables.as_slice())
        };
        spec.spawn()
    };
    let missing = dir.path().join("missing");
    for (program, cwd, value, kind) in [
        (
            missing.as_path(),
            Path::new("/"),
            "",
            std::io::ErrorKind::NotFound,
        ),
        (
            &script,
            Path::new("/"),
            "",
            std::io::ErrorKind::PermissionDenied,
        ),
        (
            Path::new("/bin/true"),
            Path::new("/"),
            "a\0b",
            std::io::ErrorKind::InvalidInput,
        ),
    ] {
        let error = attempt(program, cwd, value).unwrap_err();
        let hermes_proc::Error::Start { source, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(source.kind(), kind, "{}", program.display());
    }
    let error = attempt(Path::new("/bin/true"), &missing, "").unwrap_err();
    assert!(
        matches!(error, hermes_proc::Error::MissingDirectory { .. }),
        "{error}"
    );
    let children = std::fs::read_to_string("/proc/thread-self/children").unwrap();
    assert_eq!(children.trim(), "", "somebody is left");
}

#[test]
fn a_child_starts_without_our_handlers_and_with_every_signal_open() {
    let _listening = hermes_proc::EndSignals::listen().unwrap();
    let mask = |status: &str, name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
    };
    let ours = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    assert_ne!(mask(&ours, "SigCgt:"), 0);
    let dir = tempfile::tempdir().unwrap();
    let mut child = start("exec cat /proc/self/status > seen", dir.path(), quiet());
    assert_eq!(child.wait().unwrap(), ExitStatus::Exited(0));
    let seen = std::fs::read_to_string(dir.path().join("seen")).unwrap();
    assert_eq!(mask(&seen, "SigBlk:"), 0);
    assert_eq!(mask(&seen, "SigCgt:"), 0);
    // Rust programs are deaf to SIGPIPE, number 13; others are not.
    assert_eq!(mask(&seen, "SigIgn:"), mask(&ours, "SigIgn:") & !(1 << 12));
}

#[test]
fn many_threads_start_children_at_once() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let dir = dir.path();
            scope.spawn(move || {
                for round in 0..50 {
                    let code = (thread * 50 + round) % 200;
                    let mut child = start(&format!("exit {code}"), dir, quiet());
                    assert_eq!(child.wait().unwrap(), ExitStatus::Exited(code));
                }
            });
        }
    });
}
