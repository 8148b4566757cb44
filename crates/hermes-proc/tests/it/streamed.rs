//! Children that are written to and read from while they run.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use hermes_proc::{Error, is_zombie, start_time_of};
use pretty_assertions::assert_eq;

use crate::{eventually, read_pid, shell};

const LONG: Duration = Duration::from_secs(20);

#[test]
fn what_is_written_arrives_and_the_end_of_input_is_felt() {
    let mut child = shell("wc -c; echo done >&2")
        .start_streamed(LONG, 1000)
        .unwrap();
    for _ in 0..100 {
        child.write_all(&[b'x'; 10_000]).unwrap();
    }
    let captured = child.finish().unwrap();
    assert!(captured.status.success());
    assert_eq!(
        String::from_utf8(captured.stdout).unwrap().trim(),
        "1000000"
    );
    assert_eq!(captured.stderr, b"done\n");
}

#[test]
fn a_child_that_answers_while_it_is_fed_blocks_nobody() {
    // Everything comes back on both streams, far more than pipes hold.
    let mut child = shell("tee /dev/stderr").start_streamed(LONG, 4096).unwrap();
    for _ in 0..100 {
        child.write_all(&[b'y'; 10_000]).unwrap();
    }
    let captured = child.finish().unwrap();
    assert!(captured.status.success() && captured.truncated);
    assert_eq!((captured.stdout.len(), captured.stderr.len()), (4096, 4096));
}

#[test]
fn output_can_be_read_to_its_end() {
    let mut child = shell("head -c 3000000 /dev/zero; echo bad >&2; exit 3")
        .start_streamed(LONG, 100)
        .unwrap();
    child.close_input();
    let mut bytes = Vec::new();
    child.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 3_000_000);
    let captured = child.finish().unwrap();
    assert_eq!(captured.status.code(), Some(3));
    assert_eq!(captured.stderr, b"bad\n");
    assert!(captured.stdout.is_empty());
}

#[test]
fn a_child_that_ends_early_breaks_the_pipe_and_tells_why() {
    let mut child = shell("echo no room >&2; exit 4")
        .start_streamed(LONG, 1000)
        .unwrap();
    let error = loop {
        if let Err(error) = child.write_all(&[b'z'; 10_000]) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    let captured = child.finish().unwrap();
    assert_eq!(captured.status.code(), Some(4));
    assert_eq!(captured.stderr, b"no room\n");
}

#[test]
fn a_reader_elsewhere_that_keeps_the_pipe_open_does_not_hold_the_writer() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    // The stray has left the group and holds all three pipes, as a daemon might.
    let script = format!(
        "setsid sleep 30 & echo $! > {0}.part && mv {0}.part {0}; exit 5",
        file.display()
    );
    let mut child = shell(&script).start_streamed(LONG, 1000).unwrap();
    let error = loop {
        if let Err(error) = child.write_all(&[b'z'; 10_000]) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    assert_eq!(child.finish().unwrap().status.code(), Some(5));
    // Written before the shell ended.
    let stray = read_pid(&file).unwrap().cast_signed();
    let stray = rustix::process::Pid::from_raw(stray).unwrap();
    rustix::process::kill_process(stray, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn the_deadline_ends_reading_writing_and_all_that_runs() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = format!("sleep 30 & echo $! > {}; exec sleep 30", file.display());
    let limit = Duration::from_millis(300);

    let mut child = shell(&script).start_streamed(limit, 1000).unwrap();
    let error = loop {
        if let Err(error) = child.write_all(&[b'z'; 10_000]) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(matches!(child.finish(), Err(Error::Deadline { .. })));
    let pid = read_pid(&file).unwrap();
    eventually("the grandchild is gone", || {
        start_time_of(pid).is_none() || is_zombie(pid)
    });

    let mut child = shell("exec sleep 30").start_streamed(limit, 1000).unwrap();
    let error = child.read(&mut [0; 10]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(matches!(child.finish(), Err(Error::Deadline { .. })));
}
