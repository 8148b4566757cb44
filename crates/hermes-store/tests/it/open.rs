//! Opening: modes, pragmas, and everything that is not a healthy database.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use hermes_store::{
    Database, Error, Integrity, OpenOptions, integrity_check, quick_check, wal_size,
};
use pretty_assertions::assert_eq;

use crate::{add, count, mode, numbers};

/// Takes the write lock.
fn begin(database: &Database) {
    let connection = database.connection();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
}

fn try_to_write(database: &mut Database) -> Result<(), Error> {
    database.write(|_| Ok(()))
}

#[test]
fn a_new_file_is_private_and_follows_the_house_rules() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let mut database = numbers(&path);
    add(&mut database, 1);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&dir.path().join("state.db-wal")), 0o600);
    assert!(wal_size(&path).unwrap() > 0);
    let pragma = |name: &str| -> String {
        database
            .connection()
            .pragma_query_value(None, name, |row| row.get::<_, rusqlite_value::Value>(0))
            .map(rusqlite_value::text)
            .unwrap()
    };
    assert_eq!(pragma("journal_mode"), "wal");
    assert_eq!(pragma("synchronous"), "2");
    assert_eq!(pragma("foreign_keys"), "1");
    assert_eq!(pragma("busy_timeout"), "5000");
    assert_eq!(pragma("application_id"), "0");
}

mod rusqlite_value {
    pub(super) use hermes_store::rusqlite::types::Value;

    pub(super) fn text(value: Value) -> String {
        match value {
            Value::Integer(number) => number.to_string(),
            Value::Text(text) => text,
            other => format!("{other:?}"),
        }
    }
}

#[test]
fn a_link_is_refused_for_reading_and_writing_but_a_linked_directory_is_fine() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("real");
    std::fs::create_dir(&real).unwrap();
    numbers(&real.join("a.db"));
    symlink("a.db", real.join("link.db")).unwrap();
    symlink("nowhere.db", real.join("dangling.db")).unwrap();
    symlink("real", dir.path().join("alias")).unwrap();

    for name in ["link.db", "dangling.db"] {
        let path = real.join(name);
        for result in [
            Database::open(&path, &OpenOptions::default()),
            Database::open_read_only(&path),
        ] {
            let error = result.unwrap_err();
            assert!(error.to_string().contains("symbolic link"), "{error}");
        }
    }
    assert!(!real.join("nowhere.db").exists());
    assert_eq!(count(&dir.path().join("alias/a.db")), 0);
}

#[test]
fn a_missing_file_is_not_created_by_readers_nor_without_leave() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gone.db");
    let options = OpenOptions {
        create: false,
        ..OpenOptions::default()
    };
    assert!(Database::open_read_only(&path).unwrap_err().is_not_found());
    assert!(Database::open(&path, &options).unwrap_err().is_not_found());
    assert!(quick_check(&path).unwrap_err().is_not_found());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_reader_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    numbers(&path);
    let mut reader = Database::open_read_only(&path).unwrap();
    assert!(
        reader
            .connection()
            .execute("INSERT INTO numbers VALUES (1, NULL)", [])
            .is_err()
    );
    assert!(try_to_write(&mut reader).is_err());
}

#[test]
fn a_read_only_directory_can_be_read() {
    if hermes_testkit::ran_as_nobody("open::a_read_only_directory_can_be_read") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let path = home.join("a b?.db");
    let mut database = numbers(&path);
    add(&mut database, 1);
    drop(database);
    std::fs::set_permissions(&home, PermissionsExt::from_mode(0o500)).unwrap();
    let seen = count(&path);
    std::fs::set_permissions(&home, PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(seen, 1);
}

#[test]
fn junk_is_named_as_such_and_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let junk = b"this is certainly not a database\n".repeat(64);
    std::fs::write(&path, &junk).unwrap();
    for error in [
        Database::open(&path, &OpenOptions::default()).unwrap_err(),
        Database::open_read_only(&path).unwrap_err(),
        integrity_check(&path).unwrap_err(),
    ] {
        assert!(matches!(error, Error::NotADatabase { .. }), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!("{} is not an SQLite database", path.display())
        );
        assert!(error.hint().is_some());
    }
    assert_eq!(std::fs::read(&path).unwrap(), junk);

    let error = Database::open(dir.path(), &OpenOptions::default()).unwrap_err();
    assert!(error.to_string().contains("it is a directory"), "{error}");
}

#[test]
fn damage_is_found_and_classified() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let mut database = numbers(&path);
    for number in 0..200 {
        add(&mut database, number);
    }
    drop(database);
    assert_eq!(integrity_check(&path).unwrap(), Integrity::Sound);

    let mut bytes = std::fs::read(&path).unwrap();
    let len = bytes.len();
    bytes[len / 4..len / 2].fill(0xA5);
    std::fs::write(&path, &bytes).unwrap();
    for verdict in [integrity_check(&path).unwrap(), quick_check(&path).unwrap()] {
        let Integrity::Damaged(findings) = &verdict else {
            panic!("damage was not found");
        };
        assert!(!findings.is_empty() && findings.len() <= 20);
        let error = verdict.into_result(&path).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }));
    }
}

#[test]
fn a_held_write_lock_is_reported_as_busy() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let holder = numbers(&path);
    begin(&holder);
    let options = OpenOptions {
        busy_timeout: Duration::from_millis(30),
        ..OpenOptions::default()
    };
    let mut other = Database::open(&path, &options).unwrap();
    let error = try_to_write(&mut other).unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error:?}");
    assert!(error.is_retryable());
    drop(holder);
    try_to_write(&mut other).unwrap();
}

#[test]
fn a_check_that_must_leave_no_trace_leaves_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let database = Database::open(&path, &OpenOptions::default()).unwrap();
    database
        .connection()
        .execute_batch("CREATE TABLE t(x); INSERT INTO t VALUES (1);")
        .unwrap();
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let live = names();
    assert_eq!(
        hermes_store::quick_check_untouched(&path).unwrap(),
        Some(Integrity::Sound)
    );
    assert_eq!(names(), live);
    drop(database);
    let closed = names();
    assert_eq!(
        hermes_store::quick_check_untouched(&path).unwrap(),
        Some(Integrity::Sound)
    );
    assert_eq!(names(), closed);
    // A log that a crash left behind, and nobody to index it.
    std::fs::write(dir.path().join("state.db-wal"), [0; 64]).unwrap();
    assert_eq!(hermes_store::quick_check_untouched(&path).unwrap(), None);
    std::fs::remove_file(dir.path().join("state.db-wal")).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let page = bytes.len() - 4096;
    bytes[page..page + 64].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(
        hermes_store::quick_check_untouched(&path).unwrap(),
        Some(Integrity::Damaged(_))
    ));
}

#[test]
fn an_inspection_leaves_no_files_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let mut database = numbers(&path);
    add(&mut database, 1);
    drop(database);
    let before = std::fs::read(&path).unwrap();
    let look = Database::open_for_inspection(&path).unwrap();
    let count: i64 = look
        .connection()
        .query_row("SELECT count(*) FROM numbers", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1);
    let refused = look
        .connection()
        .execute("INSERT INTO numbers VALUES (2, NULL)", []);
    assert!(refused.is_err());
    drop(look);
    assert!(std::fs::read(&path).unwrap() == before);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    assert!(
        Database::open_for_inspection(&dir.path().join("b.db")).is_err_and(|e| e.is_not_found())
    );
}

#[test]
fn an_eager_writer_waits_for_its_turn() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let first = numbers(&path);
    let eager = OpenOptions {
        eager: true,
        ..OpenOptions::default()
    };
    let mut second = Database::open(&path, &eager).unwrap();
    begin(&first);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| add(&mut second, 2));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!waiting.is_finished());
        first.connection().execute_batch("COMMIT").unwrap();
        waiting.join().unwrap();
    });
    drop(first);
    drop(second);
    assert_eq!(count(&path), 1);
}

#[test]
fn a_schema_that_contradicts_itself_can_still_be_read_for_salvage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let mut database = numbers(&path);
    add(&mut database, 7);
    database
        .connection()
        .execute_batch(
            "PRAGMA writable_schema = ON;
             INSERT INTO sqlite_schema VALUES ('view', 'numbers', 'numbers', 0, 'CREATE VIEW numbers AS nonsense');",
        )
        .unwrap();
    drop(database);
    assert!(matches!(
        Database::open_read_only(&path).and_then(|_| Database::open_for_inspection(&path)),
        Err(Error::Corrupt { .. })
    ));
    let salvage = Database::open_for_salvage(&path).unwrap();
    let saved: i64 = salvage
        .connection()
        .query_row("SELECT n FROM numbers", [], |row| row.get(0))
        .unwrap();
    assert_eq!(saved, 7);
    let refused = salvage.connection().execute("DELETE FROM numbers", []);
    assert!(refused.is_err());
}
