//! Copying a live database with SQLite's online backup.
//!
//! The source is read inside one read transaction: in write-ahead mode that is a snapshot, so
//! writers go on and the copy never starts over, however busy they are. The copy is one file
//! without sidecars, checked before it is called done.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::location::{DatabaseLocation, sidecars};
use crate::{Database, Error, Result, quick_check};

/// Pause before a step that found a lock is tried again.
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// Pages per step. SQLite holds no lock of the source between two steps.
const PAGES_PER_STEP: i32 = 1024;

/// Longest time without progress because another connection holds a lock.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Copies the database at `source` to `target`, which must not exist and gets mode 0600. A failed
/// copy leaves no target. Gives the size of the copy.
pub fn backup_to(source: &Path, target: &Path) -> Result<u64> {
    let steps = Steps {
        pages: PAGES_PER_STEP,
        timeout: TIMEOUT,
        after_each: &mut || {},
    };
    backup_in(steps, source, target)
}

/// How a copy goes on.
struct Steps<'s> {
    pages: i32,
    timeout: Duration,
    after_each: &'s mut dyn FnMut(),
}

fn backup_in(steps: Steps<'_>, source: &Path, target: &Path) -> Result<u64> {
    // Before the target exists: a source that cannot be read must not leave anything behind.
    let from = Database::open_read_only_within(source, steps.timeout)?;
    drop(hermes_fs::create_new(target, 0o600)?);
    let copied = copy(steps, &from, target)
        .and_then(|()| quick_check(target))
        .and_then(|verdict| verdict.into_result(target))
        .and_then(|()| Ok(hermes_fs::symlink_metadata(target)?.len()));
    if copied.is_err() {
        for left_over in sidecars(target).iter().map(AsRef::as_ref).chain([target]) {
            hermes_fs::remove_file_if_present(left_over)?;
        }
    }
    copied
}

fn copy(steps: Steps<'_>, from: &Database, target: &Path) -> Result<()> {
    let snapshot = from
        .connection()
        .unchecked_transaction()
        .map_err(from.error("back up"))?;
    // `BEGIN` alone takes no lock; the first read does.
    snapshot
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .map_err(from.error("back up"))?;
    let mut to = open_target(target)?;
    {
        let backup = Backup::new(&snapshot, &mut to).map_err(from.error("back up"))?;
        run(steps, &backup, from)?;
    }
    // The header came over with the pages and says "write-ahead log"; without a log beside it the
    // copy is whole in either mode, and in this one it can be read from a read-only directory.
    to.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))
        .map_err(Error::sqlite("finish", target))?;
    to.close()
        .map_err(|(_, source)| Error::sqlite("finish", target)(source))?;
    snapshot.finish().map_err(from.error("back up"))
}

/// Opens the empty file as it is: `Database::open` would write a page that the copy then replaces.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
fn open_target(target: &Path) -> Result<Connection> {
    let location = DatabaseLocation::of(target)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(&location.real, flags).map_err(Error::sqlite("create", target))
}

fn run(steps: Steps<'_>, backup: &Backup<'_, '_>, from: &Database) -> Result<()> {
    let mut last_progress = Instant::now();
    loop {
        let step = backup.step(steps.pages).map_err(from.error("back up"))?;
        match step {
            StepResult::Busy | StepResult::Locked if last_progress.elapsed() >= steps.timeout => {
                return Err(Error::Busy {
                    action: "back up",
                    path: from.path().to_owned(),
                });
            }
            StepResult::Busy | StepResult::Locked => std::thread::sleep(BUSY_PAUSE),
            StepResult::Done | StepResult::More => {
                last_progress = Instant::now();
                (steps.after_each)();
                if step == StepResult::Done {
                    return Ok(());
                }
            }
            // The enum is open; a result we do not know must not be taken for success.
            other => {
                return Err(Error::Corrupt {
                    path: from.path().to_owned(),
                    detail: format!("SQLite's backup returned an unexpected result: {other:?}"),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpenOptions;

    fn numbers(path: &Path) -> Database {
        let database = Database::open(path, &OpenOptions::default()).unwrap();
        let sql = "CREATE TABLE numbers (n INTEGER PRIMARY KEY, pad BLOB)";
        database.connection().execute_batch(sql).unwrap();
        database
    }

    fn add(database: &Database) {
        let sql = "INSERT INTO numbers (pad) VALUES (randomblob(2000))";
        database.connection().execute_batch(sql).unwrap();
    }

    fn count(path: &Path) -> i64 {
        let database = Database::open_read_only(path).unwrap();
        let sql = "SELECT count(*) FROM numbers";
        let count = database.connection().query_row(sql, [], |row| row.get(0));
        count.unwrap()
    }

    #[test]
    fn writers_in_threads_are_not_blocked_by_a_slow_backup() {
        let dir = tempfile::tempdir().unwrap();
        let (path, target) = (dir.path().join("state.db"), dir.path().join("copy.db"));
        let database = numbers(&path);
        for _ in 0..50 {
            add(&database);
        }
        let mut added = 0;
        // A commit between any two steps: without one snapshot for all steps this would never end.
        let steps = Steps {
            pages: 8,
            timeout: TIMEOUT,
            after_each: &mut || {
                add(&database);
                added += 1;
            },
        };
        backup_in(steps, &path, &target).unwrap();
        assert!(added > 2, "the backup took one step only");
        assert_eq!((count(&target), count(&path)), (50, 50 + added));
    }

    #[test]
    fn an_exclusive_lock_ends_in_busy_after_the_timeout_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (path, target) = (dir.path().join("old.db"), dir.path().join("copy.db"));
        let database = numbers(&path);
        let sql = "PRAGMA journal_mode=DELETE; BEGIN EXCLUSIVE";
        database.connection().execute_batch(sql).unwrap();
        let steps = Steps {
            pages: PAGES_PER_STEP,
            timeout: Duration::from_millis(50),
            after_each: &mut || {},
        };
        let error = backup_in(steps, &path, &target).unwrap_err();
        assert!(matches!(error, Error::Busy { .. }), "{error:?}");
        assert!(!target.exists());
    }
}
