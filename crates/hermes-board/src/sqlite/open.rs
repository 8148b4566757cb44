//! Opening a board's database: fresh, current, old, damaged, or something else entirely.
//!
//! Ordinary openings cost the same however large the file is: its first bytes, a look at the
//! schema, and once a day a check. Nothing is ever recreated over a file that cannot be read, and a
//! file that is refused keeps every byte.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use hermes_config::{Environment, vars};
use hermes_fs::{FileLock, LockOptions};
use hermes_store::{Database, Header, Integrity, Journal, OpenOptions};

use crate::boards::{Board, init_lock_of};
use crate::clock::{Clock, IdSource, RandomIds, SystemClock};
use crate::sqlite::SqliteBoard;
use crate::store::FailurePolicy;
use crate::{Error, Result, schema};

/// Longest wait for another process that makes or mends the file.
const INIT_PATIENCE: Duration = Duration::from_secs(10);
/// A check older than this is repeated.
const CHECK_AGE: Duration = Duration::from_hours(24);
/// Files up to this size are checked every time; that takes no longer than opening them.
const SMALL: u64 = 256 * 1024;
/// How long SQLite waits for a lock unless told otherwise.
const BUSY_TIMEOUT: Duration = Duration::from_mins(2);
/// Pages in the log after which it is moved into the file. The reference does so ten times as often,
/// which costs a third of all waits for the disk.
const CHECKPOINT_PAGES: u32 = 1000;
/// Bytes of a foreign file that a message shows.
const SHOWN_BYTES: usize = 32;
/// Statements kept ready per connection.
const STATEMENTS: usize = 128;

/// How thoroughly a file is looked at before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckDepth {
    /// Its first bytes, and a check if the last one is a day old.
    #[default]
    WhenDue,
    /// A check of all pages: when a dispatcher or dashboard starts.
    Quick,
    /// Also every index against its table, and every migration: `init` and `doctor`.
    Full,
}

/// How a board is opened.
#[derive(Debug, Clone)]
pub struct BoardOptions {
    /// How thoroughly the file is looked at.
    pub check: CheckDepth,
    /// How long to wait for a lock.
    pub busy_timeout: Duration,
    /// Failures after which a card without a number of its own is blocked, as configured.
    pub failure_limit: i64,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Names of new cards.
    pub ids: Arc<dyn IdSource>,
}

impl Default for BoardOptions {
    fn default() -> Self {
        Self {
            check: CheckDepth::default(),
            busy_timeout: BUSY_TIMEOUT,
            failure_limit: FailurePolicy::DEFAULT_LIMIT,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
        }
    }
}

impl BoardOptions {
    /// With the waiting time of the environment.
    pub fn from_environment(env: &Environment) -> Self {
        let busy_timeout = env
            .text(&vars::HERMES_KANBAN_BUSY_TIMEOUT_MS)
            .and_then(|text| text.parse().ok())
            .filter(|milliseconds| *milliseconds > 0)
            .map_or(BUSY_TIMEOUT, Duration::from_millis);
        Self {
            busy_timeout,
            ..Self::default()
        }
    }
}

/// Opens the file, making or mending it if need be.
pub(super) fn open(board: &Board, options: &BoardOptions) -> Result<SqliteBoard> {
    let path = &board.database;
    if let Some(parent) = path.parent() {
        hermes_fs::create_dir_all(parent, 0o700)?;
    }
    let header = hermes_store::read_header(path)?;
    match &header {
        Header::Foreign { first } => return Err(refuse_foreign(path, first, &header)),
        Header::Fresh => return with_init_lock(path, || create(board, options)),
        Header::Sqlite | Header::InUse => {}
    }
    if options.check == CheckDepth::WhenDue && !is_due(path) {
        if is_small(path)? {
            refuse_damaged(path, hermes_store::quick_check)?;
        }
    } else {
        with_init_lock(path, || check(path, options.check))?;
    }
    let opened = connect(board, options)?;
    let behind = schema::is_behind(opened.connection()).map_err(opened.failed("read"))?;
    if !behind && options.check != CheckDepth::Full {
        return Ok(opened);
    }
    drop(opened);
    with_init_lock(path, || {
        let mut opened = connect(board, options)?;
        migrate(&mut opened, options)?;
        Ok(opened)
    })
}

/// Another connection to a file that this process has opened before.
pub(super) fn connect(board: &Board, options: &BoardOptions) -> Result<SqliteBoard> {
    let database = Database::open(
        &board.database,
        &OpenOptions {
            busy_timeout: options.busy_timeout,
            checkpoint_pages: Some(CHECKPOINT_PAGES),
            hardened: true,
            ..OpenOptions::default()
        },
    )
    .map_err(|error| keep_copy(&board.database, error.into()))?;
    warn_of_rollback_journal(&database);
    database
        .connection()
        .set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(SqliteBoard {
        database,
        damage: DamageWatch {
            path: board.database.clone(),
            seen: AtomicBool::new(false),
        },
        board: board.clone(),
        options: options.clone(),
    })
}

fn create(board: &Board, options: &BoardOptions) -> Result<SqliteBoard> {
    let mut opened = connect(board, options)?;
    migrate(&mut opened, options)?;
    // What was just made needs no check today.
    stamp(&board.database);
    Ok(opened)
}

fn migrate(opened: &mut SqliteBoard, options: &BoardOptions) -> Result<()> {
    opened.write(|session| {
        let connection = session.connection;
        // Another process may have done it while we waited for the lock.
        let behind = schema::is_behind(connection).map_err(failed_on(session.path, "read"))?;
        let result = if behind {
            schema::bring_up_to_date(connection, session.now)
        } else if options.check == CheckDepth::Full {
            schema::rename_kinds(connection)
        } else {
            Ok(())
        };
        result.map_err(failed_on(session.path, "migrate"))
    })
}

fn check(path: &Path, depth: CheckDepth) -> Result<()> {
    // Somebody else may have checked it while we waited.
    if depth == CheckDepth::WhenDue && !is_due(path) {
        return Ok(());
    }
    match depth {
        CheckDepth::Full => refuse_damaged(path, hermes_store::integrity_check)?,
        CheckDepth::WhenDue | CheckDepth::Quick => {
            refuse_damaged(path, hermes_store::quick_check)?;
        }
    }
    stamp(path);
    Ok(())
}

fn refuse_damaged(
    path: &Path,
    verdict: impl FnOnce(&Path) -> hermes_store::Result<Integrity>,
) -> Result<()> {
    match verdict(path) {
        Ok(Integrity::Damaged(findings)) => Err(keep_copy(
            path,
            Error::Damaged {
                path: path.to_owned(),
                detail: findings.join("; "),
                copy: None,
            },
        )),
        // An error of input and output may mean a journal that only a writer may replay: the
        // connection that follows does, and any damage shows there.
        Ok(Integrity::Sound) | Err(hermes_store::Error::Io { .. }) => Ok(()),
        Err(error) => Err(keep_copy(path, error.into())),
    }
}

fn refuse_foreign(path: &Path, first: &[u8], header: &Header) -> Error {
    let bytes: Vec<String> = first
        .iter()
        .take(SHOWN_BYTES)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    keep_copy(
        path,
        Error::NotADatabase {
            path: path.to_owned(),
            first_bytes: bytes.join(" "),
            looks_like_tls: header.tls_record_at().is_some(),
            copy: None,
        },
    )
}

/// Adds a copy of the damaged bytes to an error about damage.
fn keep_copy(path: &Path, error: Error) -> Error {
    let kept = || match hermes_store::keep_damaged_copy(path) {
        Ok(kept) => kept,
        Err(error) => {
            // The refusal is the news; a disk too full for a copy does not change it.
            tracing::error!(%error, "could not keep a copy of a damaged board");
            None
        }
    };
    match error {
        Error::Damaged { path, detail, .. } => Error::Damaged {
            path,
            detail,
            copy: kept(),
        },
        Error::NotADatabase {
            path,
            first_bytes,
            looks_like_tls,
            ..
        } => Error::NotADatabase {
            path,
            first_bytes,
            looks_like_tls,
            copy: kept(),
        },
        other => other,
    }
}

/// Runs `work` under the lock that the reference takes too. A holder that hangs must not stop the
/// board: what is done under it can be repeated.
fn with_init_lock<T>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let lock = FileLock::acquire(
        &init_lock_of(path),
        &LockOptions {
            timeout: INIT_PATIENCE,
            ..LockOptions::new("the board database")
        },
    );
    let _held = match lock {
        Ok(lock) => Some(lock),
        Err(error @ hermes_fs::Error::LockTimeout { .. }) => {
            tracing::warn!(%error, "going on without the lock");
            None
        }
        Err(error) => return Err(error.into()),
    };
    work()
}

fn is_due(path: &Path) -> bool {
    let checked = hermes_fs::metadata(&init_lock_of(path))
        .ok()
        .and_then(|meta| meta.modified().ok());
    match checked.map(|at| SystemTime::now().duration_since(at)) {
        Some(Ok(age)) => age > CHECK_AGE,
        // A stamp of the future says nothing.
        Some(Err(_)) | None => true,
    }
}

fn is_small(path: &Path) -> Result<bool> {
    Ok(hermes_fs::metadata(path)?.len() <= SMALL)
}

fn stamp(path: &Path) {
    if let Err(error) = hermes_fs::touch(&init_lock_of(path), 0o600) {
        tracing::debug!(%error, "the next opening will check the board again");
    }
}

fn warn_of_rollback_journal(database: &Database) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if database.journal() == Journal::Rollback && !WARNED.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            path = %database.path().display(),
            "this file system offers no write-ahead log; the board works, more slowly"
        );
    }
}

pub(super) fn failed_on(
    path: &Path,
    action: &'static str,
) -> impl FnOnce(hermes_store::rusqlite::Error) -> Error {
    move |source| hermes_store::Error::sqlite(action, path)(source).into()
}

/// Remembers that damage was met, and keeps a copy once the connection is closed: before that, a
/// plain read of the file would drop its locks.
#[derive(Debug)]
pub(super) struct DamageWatch {
    path: PathBuf,
    seen: AtomicBool,
}

impl DamageWatch {
    pub(super) fn watch<T>(&self, result: Result<T>) -> Result<T> {
        if result.as_ref().is_err_and(Error::is_damage) {
            self.seen.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl Drop for DamageWatch {
    fn drop(&mut self) {
        if !self.seen.load(Ordering::Relaxed) {
            return;
        }
        match hermes_store::keep_damaged_copy(&self.path) {
            Ok(Some(copy)) => {
                tracing::error!(copy = %copy.display(), "a damaged board was met; a copy is kept");
            }
            Ok(None) => tracing::error!("a damaged board was met, and is still in use"),
            Err(error) => tracing::error!(%error, "could not keep a copy of a damaged board"),
        }
    }
}
