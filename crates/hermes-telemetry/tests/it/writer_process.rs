//! Other processes that log: this test binary, started again with one test selected.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use hermes_secret::Redactor;
use hermes_telemetry::{Level, LogSettings, LogWriter};

const DIR: &str = "HERMES_TEST_LOG_DIR";
const PLAN: &str = "HERMES_TEST_LOG_PLAN";

/// What one writer does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) writer: usize,
    pub(crate) lines: usize,
    pub(crate) max_bytes: u64,
    pub(crate) backups: u32,
}

impl Plan {
    pub(crate) fn start(self, dir: &Path) -> Child {
        let Self {
            writer,
            lines,
            max_bytes,
            backups,
        } = self;
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writer_process::entry"])
            .env(DIR, dir)
            .env(PLAN, format!("{writer} {lines} {max_bytes} {backups}"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }
}

/// The message of one line; its tail proves that the line is whole.
pub(crate) fn message(writer: usize, number: usize) -> String {
    let padding = "abcdefghijklmnopqrstuvwxyz";
    let length = number % 60;
    format!(
        "writer {writer} line {number} {} end{number}",
        padding.repeat(3).get(..length).unwrap()
    )
}

/// Reads a line back, panicking on one that is not whole.
pub(crate) fn parse(line: &str) -> (usize, usize) {
    let (head, rest) = line.split_once(" INFO agent.test: ").expect(line);
    assert_eq!(head.len(), "2026-01-01 00:00:00,000".len(), "{line}");
    let mut words = rest.split(' ');
    assert_eq!(words.next(), Some("writer"), "{line}");
    let writer = words.next().unwrap().parse().expect(line);
    let number = words.nth(1).unwrap().parse().expect(line);
    assert_eq!(rest, message(writer, number), "torn");
    (writer, number)
}

#[test]
fn entry() {
    let (Ok(dir), Ok(plan)) = (std::env::var(DIR), std::env::var(PLAN)) else {
        return;
    };
    let numbers: Vec<usize> = plan.split(' ').map(|n| n.parse().unwrap()).collect();
    let [writer, lines, max_bytes, backups] = numbers[..] else {
        panic!("{plan}");
    };
    let log = LogWriter::new(LogSettings {
        max_bytes: max_bytes as u64,
        backups: u32::try_from(backups).unwrap(),
        ..LogSettings::new(dir, Redactor::default())
    });
    for number in 0..lines {
        log.append(Level::Info, "agent.test", None, &message(writer, number));
    }
    assert_eq!(log.failed(), 0);
}
