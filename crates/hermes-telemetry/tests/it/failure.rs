//! What cannot be logged is counted, and nothing else happens.

use std::fs;

use hermes_secret::Redactor;
use hermes_telemetry::{Level, LogLayer, LogSettings, LogWriter};
use pretty_assertions::assert_eq;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;

#[test]
fn file_in_place_of_the_directory_is_counted_as_failure() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    fs::write(&logs, "in the way").unwrap();
    let writer = LogWriter::new(LogSettings::new(&logs, Redactor::default()));
    writer.append(Level::Info, "agent", None, "x");
    writer.append(Level::Error, "agent", None, "x");
    assert_eq!(writer.failed(), 3);
    assert_eq!(fs::read_to_string(&logs).unwrap(), "in the way");
}

#[test]
fn unwritable_directory_is_counted_as_failure() {
    // Below /proc not even root may create anything.
    let writer = LogWriter::new(LogSettings::new("/proc/self/logs", Redactor::default()));
    writer.append(Level::Info, "agent", None, "x");
    assert_eq!(writer.failed(), 1);
}

#[test]
fn missing_home_is_never_created() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    let writer = LogWriter::new(LogSettings::new(home.join("logs"), Redactor::default()));
    writer.append(Level::Info, "agent", None, "x");
    assert_eq!(writer.failed(), 1);
    assert!(!home.exists());
    fs::create_dir(&home).unwrap();
    writer.append(Level::Info, "agent", None, "x");
    assert_eq!(writer.failed(), 1);
    assert!(home.join("logs/agent.log").exists());
}

#[test]
fn a_fifo_in_place_of_the_file_blocks_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("agent.log");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let writer = LogWriter::new(LogSettings::new(dir.path(), Redactor::default()));
    writer.append(Level::Info, "agent", None, "x");
    assert_eq!(writer.failed(), 1);
}

#[test]
fn events_that_cannot_be_written_are_counted() {
    let writer = LogWriter::new(LogSettings::new("/proc/self/logs", Redactor::default()));
    let layer = LogLayer::new(writer.clone());
    tracing::subscriber::with_default(Registry::default().with(layer), || {
        tracing::info!(target: "hermes_agent", "x");
    });
    assert_eq!(writer.failed(), 1);
}
