//! Reading the last lines, with and without filters, over rotated files.

use std::fs;
use std::path::Path;
use std::time::Duration;

use hermes_telemetry::reader::{LogName, LogQuery, LogReader, ReadError};
use hermes_telemetry::{Level, Zone};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use pretty_assertions::assert_eq;

fn read(dir: &Path, query: &LogQuery) -> Vec<String> {
    let zone = Zone::Explicit(TimeZone::UTC);
    let now: Timestamp = "2026-11-02T12:00:00Z".parse().unwrap();
    LogReader::new(dir, LogName::Agent, &zone, now)
        .read(query)
        .unwrap()
}

fn last(dir: &Path, lines: usize) -> Vec<String> {
    read(
        dir,
        &LogQuery {
            lines,
            ..LogQuery::default()
        },
    )
}

#[test]
fn the_last_lines_come_from_as_many_files_as_needed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("agent.log.2"), "1\n2\n").unwrap();
    fs::write(dir.path().join("agent.log.1"), "3\n4\n").unwrap();
    fs::write(dir.path().join("agent.log"), "5\n6").unwrap();
    assert_eq!(last(dir.path(), 0), Vec::<String>::new());
    assert_eq!(last(dir.path(), 1), ["6"]);
    assert_eq!(last(dir.path(), 2), ["5", "6"]);
    assert_eq!(last(dir.path(), 3), ["4", "5", "6"]);
    assert_eq!(last(dir.path(), 99), ["1", "2", "3", "4", "5", "6"]);
}

#[test]
fn large_files_are_read_from_their_end() {
    let dir = tempfile::tempdir().unwrap();
    let text: Vec<String> = (0..100_000)
        .map(|number| format!("line {number}"))
        .collect();
    fs::write(dir.path().join("agent.log"), text.join("\n")).unwrap();
    let lines = last(dir.path(), 20_000);
    assert_eq!(lines.len(), 20_000);
    assert_eq!(lines[0], "line 80000");
    assert_eq!(lines[19_999], "line 99999");
}

#[test]
fn with_filters_every_file_is_searched() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("agent.log.1"),
        "2026-11-02 10:00:00,000 ERROR agent: old\nits trace\n2026-11-02 10:30:00,000 ERROR agent: cut\n",
    )
    .unwrap();
    let noise = "2026-11-02 11:30:00,000 INFO agent: fine\nmore\n".repeat(5_000);
    fs::write(
        dir.path().join("agent.log"),
        format!("its trace too\n{noise}"),
    )
    .unwrap();
    let errors = LogQuery {
        lines: 50,
        level: Some(Level::Error),
        ..LogQuery::default()
    };
    assert_eq!(
        read(dir.path(), &errors),
        [
            "2026-11-02 10:00:00,000 ERROR agent: old",
            "its trace",
            "2026-11-02 10:30:00,000 ERROR agent: cut",
            "its trace too",
        ]
    );
    let few = LogQuery {
        lines: 2,
        ..errors.clone()
    };
    assert_eq!(read(dir.path(), &few).len(), 2);
    let recent = LogQuery {
        since: Some(Duration::from_mins(100)),
        ..errors
    };
    assert_eq!(
        read(dir.path(), &recent),
        ["2026-11-02 10:30:00,000 ERROR agent: cut", "its trace too"]
    );
}

#[test]
fn strange_bytes_and_long_lines_are_shown_within_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = b"a\xff\xfeb\n".to_vec();
    bytes.extend(vec![b'x'; 1_000_000]);
    bytes.extend(b"\nend\n");
    fs::write(dir.path().join("agent.log"), bytes).unwrap();
    let lines = last(dir.path(), 3);
    assert_eq!(lines[0], "a\u{fffd}\u{fffd}b");
    assert!(lines[1].len() < 100_000, "{}", lines[1].len());
    assert!(lines[1].ends_with(" bytes more]"));
    assert_eq!(lines[2], "end");
}

#[test]
fn a_log_that_does_not_exist_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let reader = LogReader::new(dir.path(), LogName::Gui, &Zone::System, Timestamp::now());
    let error = reader.read(&LogQuery::default()).unwrap_err();
    assert!(matches!(error, ReadError::Missing { .. }));
    assert!(error.to_string().contains("gui.log"), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn reading_changes_no_file() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("agent.log"), "x\n").unwrap();
    assert_eq!(last(dir.path(), 5), ["x"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}
