//! Following a log while others write, rotate, truncate and delete it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_telemetry::Zone;
use hermes_telemetry::reader::{Follower, LogName, LogQuery, LogReader};
use jiff::Timestamp;
use pretty_assertions::assert_eq;

use crate::writer_process::{Plan, parse};

fn reader(dir: &Path) -> LogReader {
    LogReader::new(dir, LogName::Agent, &Zone::System, Timestamp::now())
}

fn polled(follower: &mut Follower) -> Vec<String> {
    let mut lines = Vec::new();
    follower
        .poll(&mut |line| lines.push(line.to_owned()))
        .unwrap();
    lines
}

fn append(path: &Path, text: &str) {
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

struct Log {
    _dir: tempfile::TempDir,
    path: PathBuf,
    follower: Follower,
}

/// A log with two lines, followed from its end.
fn followed() -> Log {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent.log");
    append(&path, "one\ntwo\n");
    let (shown, follower) = reader(dir.path())
        .follow(&LogQuery {
            lines: 1,
            ..LogQuery::default()
        })
        .unwrap();
    assert_eq!(shown, ["two"]);
    Log {
        _dir: dir,
        path,
        follower,
    }
}

fn rotate(path: &Path, backups: u32) {
    for number in (1..backups).rev() {
        let from = path.with_extension(format!("log.{number}"));
        if from.exists() {
            fs::rename(from, path.with_extension(format!("log.{}", number + 1))).unwrap();
        }
    }
    fs::rename(path, path.with_extension("log.1")).unwrap();
}

#[test]
fn every_line_once_while_processes_write_and_rotate() {
    const LINES: usize = 20_000;
    const WRITERS: usize = 2;
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    let (shown, mut follower) = reader(&logs).follow(&LogQuery::default()).unwrap();
    assert!(shown.is_empty());
    let mut children: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let plan = Plan {
                writer,
                lines: LINES,
                max_bytes: 30_000,
                backups: 2_000,
            };
            plan.start(&logs)
        })
        .collect();
    let stop = AtomicBool::new(false);
    let mut seen = vec![vec![0_u8; LINES]; WRITERS];
    std::thread::scope(|scope| {
        let (stop, seen) = (&stop, &mut seen);
        let following = scope.spawn(move || {
            follower
                .run(stop, &mut |line| {
                    let (writer, number) = parse(line);
                    seen[writer][number] += 1;
                    ControlFlow::Continue(())
                })
                .unwrap();
        });
        for child in &mut children {
            assert!(child.wait().unwrap().success());
        }
        stop.store(true, Ordering::Release);
        following.join().unwrap();
    });
    for (writer, counts) in seen.iter().enumerate() {
        let wrong = counts.iter().position(|&count| count != 1);
        assert_eq!(wrong, None, "line of writer {writer} not seen exactly once");
    }
}

#[test]
fn only_complete_lines_are_given_out() {
    let mut log = followed();
    append(&log.path, "thr");
    assert_eq!(polled(&mut log.follower), Vec::<String>::new());
    append(&log.path, "ee\nfour\nfi");
    assert_eq!(polled(&mut log.follower), ["three", "four"]);
}

#[test]
fn a_line_begun_before_following_is_given_out_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent.log");
    append(&path, "one\ntw");
    let (shown, mut follower) = reader(dir.path()).follow(&LogQuery::default()).unwrap();
    assert_eq!(shown, ["one"]);
    append(&path, "o\n");
    assert_eq!(polled(&mut follower), ["two"]);
}

#[test]
fn several_rotations_between_two_polls_lose_no_line() {
    let mut log = followed();
    append(&log.path, "three\n");
    rotate(&log.path, 5);
    append(&log.path, "four\n");
    rotate(&log.path, 5);
    append(&log.path, "five\n");
    rotate(&log.path, 5);
    append(&log.path, "six\n");
    assert_eq!(polled(&mut log.follower), ["three", "four", "five", "six"]);
    append(&log.path, "seven\n");
    assert_eq!(polled(&mut log.follower), ["seven"]);
}

#[test]
fn a_file_rotated_out_of_existence_is_read_to_its_end() {
    let mut log = followed();
    append(&log.path, "three\n");
    rotate(&log.path, 1);
    append(&log.path, "four\n");
    fs::remove_file(log.path.with_extension("log.1")).unwrap();
    assert_eq!(polled(&mut log.follower), ["three", "four"]);
}

#[test]
fn lines_of_late_writers_in_a_rotated_file_are_read() {
    let mut log = followed();
    rotate(&log.path, 3);
    append(&log.path, "four\n");
    assert_eq!(polled(&mut log.follower), ["four"]);
    append(&log.path.with_extension("log.1"), "three, late\n");
    assert_eq!(polled(&mut log.follower), ["three, late"]);
}

#[test]
fn while_the_name_is_missing_nothing_happens() {
    let mut log = followed();
    append(&log.path, "three\n");
    rotate(&log.path, 3);
    assert_eq!(polled(&mut log.follower), ["three"]);
    assert_eq!(polled(&mut log.follower), Vec::<String>::new());
    append(&log.path, "four\n");
    assert_eq!(polled(&mut log.follower), ["four"]);
}

#[test]
fn a_truncated_file_is_read_from_its_beginning() {
    let mut log = followed();
    fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(&log.path)
        .unwrap();
    assert_eq!(polled(&mut log.follower), Vec::<String>::new());
    append(&log.path, "new\n");
    assert_eq!(polled(&mut log.follower), ["new"]);
}

#[test]
fn deleting_the_log_does_not_bring_back_old_lines() {
    let mut log = followed();
    append(&log.path.with_extension("log.1"), "older\n");
    let (_, mut follower) = reader(log.path.parent().unwrap())
        .follow(&LogQuery::default())
        .unwrap();
    fs::remove_file(&log.path).unwrap();
    append(&log.path, "fresh\n");
    assert_eq!(polled(&mut follower), ["fresh"]);
    assert_eq!(polled(&mut log.follower), ["older", "fresh"]);
}

#[test]
fn filters_hold_while_following_even_across_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent.log");
    let query = LogQuery {
        level: Some("error".parse().unwrap()),
        ..LogQuery::default()
    };
    let (_, mut follower) = reader(dir.path()).follow(&query).unwrap();
    append(&path, "2026-11-02 10:00:00,000 ERROR agent: bad\n");
    assert_eq!(polled(&mut follower).len(), 1);
    rotate(&path, 2);
    append(
        &path,
        "  trace\n2026-11-02 10:00:00,000 INFO agent: fine\nmore\n",
    );
    assert_eq!(polled(&mut follower), ["  trace"]);
}

#[test]
fn breaking_off_ends_the_loop() {
    let mut log = followed();
    append(&log.path, "three\nfour\n");
    let mut lines = Vec::new();
    let never = AtomicBool::new(false);
    log.follower
        .run(&never, &mut |line| {
            lines.push(line.to_owned());
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!(lines, ["three"]);
}
