//! Opening the database of a board, whether it is new, current, old, damaged or no database at all.
//!
//! An ordinary opening costs the same however large the file is: it reads the first bytes and the
//! schema, and checks the file once a day. A file that cannot be read is never replaced, and one that
//! is refused keeps every byte.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use hermes_board_pg::Retrying;
use hermes_config::{Environment, vars};
use hermes_fs::{FileLock, LockOptions};
use hermes_store::{Database, Header, Integrity, JournalMode, OpenOptions};

use crate::boards::Board;
use crate::clock::{Clock, IdSource, RandomIds, SystemClock};
use crate::sqlite::File;
use crate::store::FailurePolicy;
use crate::{Error, Result, schema};

/// Longest wait for another process that creates or migrates the file.
const INIT_TIMEOUT: Duration = Duration::from_secs(10);
/// A check older than this is repeated.
const CHECK_AGE: Duration = Duration::from_hours(24);
/// Files up to this size are checked every time; that takes no longer than opening them.
const SMALL: u64 = 256 * 1024;
/// How long SQLite waits for a lock unless told otherwise.
const BUSY_TIMEOUT: Duration = Duration::from_mins(2);
/// Pages in the log after which it is moved into the file: 4 MB. The reference does so ten times as
/// often, which costs a third of all waits for the disk; a longer log is slower again, because
/// writing to a file that grows takes more than writing over what is there.
const CHECKPOINT_PAGES: u32 = 1000;
/// Bytes of a foreign file that a message shows.
const SHOWN_BYTES: usize = 32;
/// Statements kept ready per connection.
const STATEMENTS: usize = 128;

/// How thoroughly a file is checked before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckDepth {
    /// Read the first bytes; check all pages if the last check is a day old.
    #[default]
    WhenDue,
    /// Check all pages: when a dispatcher or dashboard starts.
    Quick,
    /// Also check every index against its table, and repeat migrations: `init` and `doctor`.
    Full,
}

/// How a board is opened.
#[derive(Debug, Clone)]
pub struct BoardOptions {
    pub check: CheckDepth,
    pub busy_timeout: Duration,
    /// How long a server that cannot be reached is waited for.
    pub retrying: Retrying,
    /// Failures after which a card without a limit of its own is blocked.
    pub failure_limit: i64,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
}

impl Default for BoardOptions {
    fn default() -> Self {
        Self {
            check: CheckDepth::default(),
            busy_timeout: BUSY_TIMEOUT,
            retrying: Retrying::default(),
            failure_limit: FailurePolicy::DEFAULT_LIMIT,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
        }
    }
}

impl BoardOptions {
    /// With the busy timeout of the environment.
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

/// Opens the file, creating or migrating it if need be.
pub(super) fn open(board: &Board, options: &BoardOptions) -> Result<File> {
    let path = &board.database;
    if let Some(parent) = path.parent() {
        hermes_fs::create_dir_all(parent, 0o700)?;
    }
    let header = hermes_store::read_header(path)?;
    match &header {
        Header::Foreign { first } => return Err(refuse_foreign(path, first, &header)),
        Header::Fresh => return with_init_lock(board, || create(board, options)),
        Header::Sqlite | Header::InUse => {}
    }
    if options.check == CheckDepth::WhenDue && !is_due(board) {
        if is_small(path)? {
            refuse_damaged(path, hermes_store::quick_check)?;
        }
    } else {
        with_init_lock(board, || check(board, options.check))?;
    }
    let opened = connect(board, options)?;
    let behind =
        schema::is_behind(opened.database.connection()).map_err(failed_on(path, "read"))?;
    if !behind && options.check != CheckDepth::Full {
        return Ok(opened);
    }
    drop(opened);
    with_init_lock(board, || {
        let mut opened = connect(board, options)?;
        migrate(&mut opened, board, options)?;
        Ok(opened)
    })
}

/// Another connection to a file that this process has opened before.
fn connect(board: &Board, options: &BoardOptions) -> Result<File> {
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
    Ok(File {
        database,
        damage: DamageWatch {
            path: board.database.clone(),
            seen: AtomicBool::new(false),
        },
    })
}

fn create(board: &Board, options: &BoardOptions) -> Result<File> {
    let mut opened = connect(board, options)?;
    migrate(&mut opened, board, options)?;
    // A new file needs no check today.
    stamp(board);
    Ok(opened)
}

fn migrate(opened: &mut File, board: &Board, options: &BoardOptions) -> Result<()> {
    let path = board.database.clone();
    let now = options.clock.now();
    let migrated = opened.database.write(|connection| {
        // Another process may have migrated it while we waited for the lock.
        let behind = schema::is_behind(connection).map_err(failed_on(&path, "read"))?;
        let result = if behind {
            schema::bring_up_to_date(connection, now)
        } else if options.check == CheckDepth::Full {
            schema::rename_kinds(connection)
        } else {
            Ok(())
        };
        result.map_err(failed_on(&path, "migrate"))
    });
    opened.damage.watch(migrated)
}

fn check(board: &Board, depth: CheckDepth) -> Result<()> {
    let path = &board.database;
    // Another process may have checked it while we waited.
    if depth == CheckDepth::WhenDue && !is_due(board) {
        return Ok(());
    }
    match depth {
        CheckDepth::Full => refuse_damaged(path, hermes_store::integrity_check)?,
        CheckDepth::WhenDue | CheckDepth::Quick => {
            refuse_damaged(path, hermes_store::quick_check)?;
        }
    }
    stamp(board);
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
            looks_like_tls: header.has_tls_record(),
            copy: None,
        },
    )
}

/// Adds a copy of the damaged bytes to an error about damage.
fn keep_copy(path: &Path, mut error: Error) -> Error {
    if let Error::Damaged { copy, .. } | Error::NotADatabase { copy, .. } = &mut error {
        *copy = hermes_store::keep_damaged_copy(path).unwrap_or_else(|error| {
            // A disk too full for a copy does not change the refusal.
            tracing::error!(%error, "could not keep a copy of a damaged board");
            None
        });
    }
    error
}

/// Runs `work` under the lock that the reference takes too. A holder that hangs must not stop the
/// board: everything done under the lock can be repeated.
fn with_init_lock<T>(board: &Board, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let lock = FileLock::acquire(
        &board.init_lock(),
        &LockOptions {
            timeout: INIT_TIMEOUT,
            ..LockOptions::new("the board database")
        },
    );
    let _held = match lock {
        Ok(lock) => Some(lock),
        Err(error @ hermes_fs::Error::LockTimeout { .. }) => {
            tracing::warn!(%error, "continuing without the init lock");
            None
        }
        Err(error) => return Err(error.into()),
    };
    work()
}

fn is_due(board: &Board) -> bool {
    let checked = hermes_fs::metadata(&board.init_lock())
        .ok()
        .and_then(|meta| meta.modified().ok());
    match checked.map(|at| SystemTime::now().duration_since(at)) {
        Some(Ok(age)) => age > CHECK_AGE,
        // A time in the future says nothing.
        Some(Err(_)) | None => true,
    }
}

fn is_small(path: &Path) -> Result<bool> {
    Ok(hermes_fs::metadata(path)?.len() <= SMALL)
}

fn stamp(board: &Board) {
    if let Err(error) = hermes_fs::touch(&board.init_lock(), 0o600) {
        tracing::debug!(%error, "the next opening will check the board again");
    }
}

fn warn_of_rollback_journal(database: &Database) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if database.journal() == JournalMode::Rollback && !WARNED.swap(true, Ordering::Relaxed) {
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

/// Remembers that damage was found, and keeps a copy once the connection is closed: before that, a
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
                tracing::error!(copy = %copy.display(), "the board database is damaged; a copy was kept");
            }
            Ok(None) => tracing::error!("the board database is damaged and still in use"),
            Err(error) => tracing::error!(%error, "could not keep a copy of a damaged board"),
        }
    }
}
