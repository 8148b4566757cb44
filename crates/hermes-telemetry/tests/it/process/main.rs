//! The other process of the tests: appends lines to the log in a directory.
//! `DIRECTORY WRITER LINES MAX_BYTES BACKUPS`
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a part of the tests, which fails by panicking"
)]

#[path = "../message.rs"]
mod message;

use hermes_secret::Redactor;
use hermes_telemetry::{Level, LogSettings, LogWriter};
use message::message;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, writer, lines, max_bytes, backups] = arguments.as_slice() else {
        panic!("five arguments are needed: {arguments:?}");
    };
    let writer = writer.parse().unwrap();
    let log = LogWriter::new(LogSettings {
        max_bytes: max_bytes.parse().unwrap(),
        backups: backups.parse().unwrap(),
        ..LogSettings::new(directory, Redactor::default())
    });
    for number in 0..lines.parse().unwrap() {
        log.append(Level::Info, "agent.test", None, &message(writer, number));
    }
    assert_eq!(log.failed(), 0);
}
