//! Groups of writes: whole or absent, whoever else writes and whoever dies.

use std::process::Command;

use hermes_store::rusqlite::Connection;
use hermes_store::{Commit, Database, Error, Integrity, JournalMode, OpenOptions, integrity_check};
use pretty_assertions::assert_eq;

use crate::count;
use crate::fixture::{numbers, put};

#[test]
fn an_error_or_a_panic_undoes_everything() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let mut database = numbers(&path);
    let failed = database.write(|connection| {
        put(connection, 1)?;
        put(connection, 1)
    });
    assert!(matches!(failed, Err(Error::Statement { .. })), "{failed:?}");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        database.write(|connection| {
            put(connection, 2)?;
            assert!(connection.is_autocommit(), "in a transaction");
            Ok::<_, Error>(())
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(count(&path), 0);
    database.write(|connection| put(connection, 3)).unwrap();
    assert_eq!(count(&path), 1);
}

#[test]
fn a_commit_that_does_not_wait_is_there_and_the_next_waits_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let mut database = numbers(&path);
    let mode = |connection: &Connection| -> i64 {
        connection
            .pragma_query_value(None, "synchronous", |row| row.get(0))
            .unwrap()
    };
    let (normal, full) = (1, 2);
    let during = database.write_as(Commit::Logged, |connection| {
        put(connection, 1)?;
        Ok::<_, Error>(mode(connection))
    });
    assert_eq!(during.unwrap(), normal);
    assert_eq!(count(&path), 1);
    assert_eq!(mode(database.connection()), full);
    let failed = database.write_as(Commit::Logged, |connection| put(connection, 1));
    assert!(failed.is_err());
    assert_eq!(mode(database.connection()), full);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        database.write_as(Commit::Logged, |connection| {
            assert!(connection.is_autocommit(), "in a transaction");
            Ok::<_, Error>(())
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(mode(database.connection()), full);
    let forced = database.write(|connection| Ok::<_, Error>(mode(connection)));
    assert_eq!(forced.unwrap(), full);
}

#[test]
fn a_read_sees_one_state_and_may_be_followed_by_a_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let mut database = numbers(&path);
    let mut other = numbers(&path);
    let seen = |connection: &Connection| -> i64 {
        connection
            .query_row("SELECT count(*) FROM numbers", [], |row| row.get(0))
            .unwrap()
    };
    let (before, after) = database
        .read(|connection| {
            let before = seen(connection);
            other.write(|connection| put(connection, 1))?;
            Ok::<_, Error>((before, seen(connection)))
        })
        .unwrap();
    assert_eq!((before, after), (0, 0));
    database.write(|connection| put(connection, 2)).unwrap();
    assert_eq!(count(&path), 2);
}

#[test]
fn many_writers_all_get_their_turn() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    numbers(&path);
    std::thread::scope(|scope| {
        for writer in 0..8_i64 {
            let path = &path;
            scope.spawn(move || {
                let options = OpenOptions {
                    busy_timeout: std::time::Duration::from_mins(2),
                    checkpoint_pages: Some(100),
                    hardened: true,
                    ..OpenOptions::default()
                };
                let mut database = Database::open(path, &options).unwrap();
                assert_eq!(database.journal(), JournalMode::WriteAhead);
                for number in 0..50 {
                    database
                        .write(|connection| put(connection, writer * 1000 + number))
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(count(&path), 400);
    assert_eq!(integrity_check(&path).unwrap(), Integrity::Sound);
}

#[test]
fn killed_before_the_commit_nothing_is_there_and_after_it_everything() {
    let dir = tempfile::tempdir().unwrap();
    for (die_at, expected) in [(1, 0), (2, 2), (3, 2)] {
        let path = dir.path().join(format!("{die_at}.db"));
        numbers(&path);
        Command::new(hermes_testkit::helper_program("store-test-process"))
            .arg("two-writes")
            .arg(&path)
            .arg(die_at.to_string())
            .status()
            .unwrap();
        assert_eq!(count(&path), expected, "killed at {die_at}");
        assert_eq!(integrity_check(&path).unwrap(), Integrity::Sound);
    }
}
