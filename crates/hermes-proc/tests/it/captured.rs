//! Children whose output is kept.

use std::time::{Duration, Instant};

use hermes_proc::{Error, ExitStatus, is_zombie, start_time_of};
use pretty_assertions::assert_eq;

use crate::{plan, read_pid, shell};

const LONG: Duration = Duration::from_secs(20);

#[test]
fn output_status_and_directory_come_through() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = shell("pwd; echo oops >&2; exit 7");
    spec.cwd = Some(dir.path().to_owned());
    let captured = spec.run_captured(LONG, 1000).unwrap();
    assert_eq!(captured.status.code(), Some(7));
    assert_eq!(
        String::from_utf8(captured.stdout).unwrap().trim(),
        dir.path().canonicalize().unwrap().to_str().unwrap()
    );
    assert_eq!(captured.stderr, b"oops\n");
    assert!(!captured.truncated);
}

#[test]
fn the_child_sees_exactly_its_environment() {
    let mut spec = shell("/usr/bin/env");
    let plan = plan(&[("ONLY", "this"), ("GH_TOKEN", "hidden")]);
    spec.env = (&plan).into();
    let captured = spec.run_captured(LONG, 10_000).unwrap();
    let text = String::from_utf8(captured.stdout).unwrap();
    // The shell adds these itself.
    let own = ["PWD=", "SHLVL=", "_="];
    let mut seen: Vec<String> = text
        .lines()
        .filter(|line| !own.iter().any(|own| line.starts_with(own)))
        .map(str::to_owned)
        .collect();
    seen.sort_unstable();
    let planned: Vec<String> = plan
        .variables()
        .iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    assert_eq!(seen, planned);
    assert!(seen.contains(&"ONLY=this".to_owned()) && !text.contains("hidden"));
}

#[test]
fn output_beyond_the_cap_is_dropped_without_blocking_the_child() {
    let captured = shell("head -c 3000000 /dev/zero; head -c 10 /dev/zero >&2")
        .run_captured(LONG, 4096)
        .unwrap();
    assert_eq!(captured.stdout.len(), 4096);
    assert_eq!(captured.stderr.len(), 10);
    assert!(captured.truncated);
    assert!(captured.status.success());
}

#[test]
fn at_the_deadline_the_whole_group_dies() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("grandchild");
    let script = format!("sleep 300 & echo $! > {}; wait", pid_file.display());
    let start = Instant::now();
    let error = shell(&script)
        .run_captured(Duration::from_millis(700), 100)
        .unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }), "{error}");
    assert!(error.hint().is_some());
    assert!(start.elapsed() < Duration::from_secs(10));
    let grandchild = read_pid(&pid_file).unwrap();
    crate::eventually("the grandchild is gone", || {
        start_time_of(grandchild).is_none() || is_zombie(grandchild)
    });
}

#[test]
fn a_background_process_does_not_hold_the_call_up() {
    let start = Instant::now();
    let captured = shell("sleep 300 & echo done")
        .run_captured(LONG, 100)
        .unwrap();
    assert_eq!(captured.stdout, b"done\n");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_process_outside_the_group_does_not_hold_the_call_up() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let script = format!(
        "setsid sh -c 'echo $$ > {0}; exec sleep 300' & while [ ! -s {0} ]; do :; done; echo done",
        pid_file.display()
    );
    let start = Instant::now();
    let captured = shell(&script).run_captured(LONG, 100).unwrap();
    assert_eq!(captured.stdout, b"done\n");
    assert!(start.elapsed() < Duration::from_secs(10));
    let left = hermes_proc::identity_of(read_pid(&pid_file).unwrap()).unwrap();
    hermes_proc::ProcessHandle::open(&left)
        .unwrap()
        .unwrap()
        .kill()
        .unwrap();
}

#[test]
fn a_signal_shows_in_the_status() {
    let captured = shell("kill -TERM $$").run_captured(LONG, 100).unwrap();
    assert_eq!(captured.status, ExitStatus::Signalled(15));
}

#[test]
fn missing_program_differs_from_missing_directory() {
    let mut spec = shell("true");
    spec.cwd = Some("/nonexistent/dir".into());
    let error = spec.run_captured(LONG, 10).unwrap_err();
    assert!(matches!(error, Error::MissingDirectory { .. }), "{error}");

    let mut spec = shell("true");
    spec.program = "/nonexistent/program".into();
    let error = spec.run_captured(LONG, 10).unwrap_err();
    assert!(matches!(error, Error::Start { .. }), "{error}");
    assert_eq!(
        error.hint().unwrap(),
        "install /nonexistent/program or put its directory on PATH"
    );
}

#[test]
fn an_interactive_child_passes_its_status_on() {
    assert_eq!(shell("exit 3").run_interactive().unwrap().code(), Some(3));
}
