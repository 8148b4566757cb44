//! How fast lines are logged and found again:
//! `cargo run --release -p hermes-telemetry --example log_speed`.
#![allow(clippy::print_stdout, reason = "an example that prints figures")]

use std::hint::black_box;
use std::time::Instant;

use hermes_secret::Redactor;
use hermes_telemetry::reader::{LogName, LogQuery, LogReader};
use hermes_telemetry::{Level, LogSettings, LogWriter, Zone};
use jiff::Timestamp;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let zone = hermes_time::local();
    println!("zone {:?}", start.elapsed());
    drop(zone);
    let dir = tempfile::tempdir()?;
    let writer = LogWriter::new(LogSettings {
        max_bytes: 50_000_000,
        ..LogSettings::new(dir.path(), Redactor::new(["correct horse battery"]))
    });
    let start = Instant::now();
    writer.append(Level::Info, "agent.turn", None, "first");
    println!("first line {:?}", start.elapsed());
    let lines = 200_000_u32;
    let start = Instant::now();
    for _ in 0..lines {
        writer.append(
            Level::Info,
            "agent.turn",
            Some("tg:12345"),
            black_box("turn finished in 1234 ms: 17 calls, 3 retries, 2048 characters of text"),
        );
    }
    println!("append {:?} per line", start.elapsed() / lines);
    let reader = LogReader::new(dir.path(), LogName::Agent, &Zone::System, Timestamp::now());
    let start = Instant::now();
    assert_eq!(reader.read(&LogQuery::default())?.len(), 50);
    println!("last 50 of {lines} lines {:?}", start.elapsed());
    let start = Instant::now();
    let errors = LogQuery {
        level: Some(Level::Error),
        ..LogQuery::default()
    };
    assert!(reader.read(&errors)?.is_empty());
    println!("filter over {lines} lines {:?}", start.elapsed());
    Ok(())
}
