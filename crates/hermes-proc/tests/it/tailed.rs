//! Commands that are run for their verdict.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hermes_proc::{ChildSpec, Error, ExitStatus, TailLimits, Tailed};
use pretty_assertions::assert_eq;

use super::{plan, read_pid};

fn run(script: &str, cwd: &Path, limit: Duration, keep: usize) -> Result<Tailed, Error> {
    let env = plan(&[("PATH", "/usr/bin:/bin")]).with("HERMES_EXEC_ID", mark());
    let spec = ChildSpec {
        cwd: Some(cwd.to_owned()),
        ..ChildSpec::new("/bin/sh", ["-c", script], env)
    };
    spec.run_tailed(TailLimits {
        timeout: limit,
        grace: Duration::from_millis(200),
        keep,
    })
}

/// One for each command: tests run at the same time, and a command ends all who carry its mark.
fn mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{:08x}{number:08x}", std::process::id())
}

const LONG: Duration = Duration::from_mins(1);

#[test]
fn both_outputs_stand_in_order_and_the_end_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let done = run(
        "echo one; echo two >&2; echo three; exit 3",
        dir.path(),
        LONG,
        100,
    )
    .unwrap();
    assert_eq!(done.status, Some(ExitStatus::Exited(3)));
    assert_eq!(done.output, b"one\ntwo\nthree\n");
    assert!(!done.truncated);
    let much = run("seq 1 100000; echo end", dir.path(), LONG, 10).unwrap();
    assert_eq!(much.output, b"100000\nend\n"[1..]);
    assert!(much.truncated);
}

#[test]
fn timeout_kills_everything_and_keeps_the_output() {
    let dir = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'echo $$ > away.tmp; mv away.tmp away; exec sleep 300' &
        while ! test -e away; do sleep 0.01; done; echo before; trap '' TERM; sleep 300; echo after";
    let done = run(script, dir.path(), Duration::from_secs(2), 100).unwrap();
    assert_eq!(done.status, None);
    assert_eq!(done.output, b"before\n");
    let escaped = read_pid(&dir.path().join("away")).unwrap();
    assert!(hermes_proc::start_time_of(escaped).is_none() || hermes_proc::is_zombie(escaped));
}

#[test]
fn leftover_processes_do_not_delay_the_result() {
    let dir = tempfile::tempdir().unwrap();
    let done = run("sleep 300 & echo done", dir.path(), LONG, 100).unwrap();
    assert_eq!(done.status, Some(ExitStatus::Exited(0)));
    assert_eq!(done.output, b"done\n");
    assert!(done.duration < LONG);
}

#[test]
fn missing_directory_is_an_error() {
    let error = run("true", Path::new("/nonexistent/place"), LONG, 1).unwrap_err();
    assert!(matches!(error, Error::MissingDirectory { .. }), "{error}");
}
