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

/// How to copy.
#[derive(Debug, Clone, Copy)]
pub struct BackupOptions {
    /// Pages per step; between steps the progress is reported.
    pub pages_per_step: u16,
    /// Longest time without progress because another connection holds a lock.
    pub timeout: Duration,
}

impl Default for BackupOptions {
    fn default() -> Self {
        Self {
            pages_per_step: 1024,
            timeout: Duration::from_secs(30),
        }
    }
}

/// How far a copy has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupProgress {
    /// Pages copied.
    pub done: u64,
    pub total: u64,
}

/// Copies the database at `source` to `target`, which must not exist and gets mode 0600. A failed
/// copy leaves no target. Gives the size of the copy.
pub fn backup_to(
    source: &Path,
    target: &Path,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupProgress),
) -> Result<u64> {
    // Before the target exists: a source that cannot be read must not leave anything behind.
    let from = Database::open_read_only_within(source, options.timeout)?;
    drop(hermes_fs::create_new(target, 0o600)?);
    let copied = copy(&from, target, options, progress)
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

fn copy(
    from: &Database,
    target: &Path,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupProgress),
) -> Result<()> {
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
        run(&backup, from, options, progress)?;
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

fn run(
    backup: &Backup<'_, '_>,
    from: &Database,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupProgress),
) -> Result<()> {
    let mut last_progress = Instant::now();
    loop {
        let step = backup
            .step(i32::from(options.pages_per_step.max(1)))
            .map_err(from.error("back up"))?;
        match step {
            StepResult::Busy | StepResult::Locked if last_progress.elapsed() >= options.timeout => {
                return Err(Error::Busy {
                    action: "back up",
                    path: from.path().to_owned(),
                });
            }
            StepResult::Busy | StepResult::Locked => std::thread::sleep(BUSY_PAUSE),
            StepResult::Done | StepResult::More => {
                last_progress = Instant::now();
                let state = backup.progress();
                let total = u64::try_from(state.pagecount).unwrap_or(0);
                let left = u64::try_from(state.remaining).unwrap_or(0);
                progress(BackupProgress {
                    done: total.saturating_sub(left),
                    total,
                });
                if step == StepResult::Done {
                    return Ok(());
                }
            }
            // The enum is open; a result we do not know must not be taken for success.
            other => {
                return Err(Error::Corrupt {
                    path: from.path().to_owned(),
                    detail: format!("SQLite's backup gave an unexpected result: {other:?}"),
                });
            }
        }
    }
}
