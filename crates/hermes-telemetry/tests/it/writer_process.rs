//! Other processes that log.

use std::path::Path;
use std::process::{Child, Command};

use crate::message::message;

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
        Command::new(hermes_testkit::helper_program("telemetry-test-process"))
            .arg(dir)
            .args([writer, lines].map(|number| number.to_string()))
            .arg(max_bytes.to_string())
            .arg(backups.to_string())
            .spawn()
            .unwrap()
    }
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
