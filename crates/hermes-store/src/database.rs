//! A connection opened by the rules of this program.
//!
//! Owns the pragmas and the creation of the file. It must never follow a symbolic link to the
//! file, never loosen the mode of an existing one and never set an application id on a file that
//! the reference shares.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::in_process::OpenMark;
use crate::location::DatabaseLocation;
use crate::{Error, Result};

/// How often an eager connection tries to get a lock.
const EAGER_TRIES: i32 = 2_000;
/// Bounds of its pauses.
const EAGER_PAUSE_MS: std::ops::Range<u64> = 1..10;
/// How long a statement waits for another connection's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between tries where SQLite does not wait by itself.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// How to open a database for writing.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    /// Whether a missing file is created (mode 0600) or an error.
    pub create: bool,
    pub busy_timeout: Duration,
    /// Pages in the log after which a commit moves them into the file; `None` is SQLite's own
    /// measure.
    pub checkpoint_pages: Option<u32>,
    /// Whether a lock is tried every few milliseconds for about ten seconds, instead of at growing
    /// intervals within `busy_timeout`: for files that several processes write to all the time.
    pub eager: bool,
    /// Whether deleted content is overwritten and cells are checked when read: for files whose
    /// damage must show instead of giving wrong rows.
    pub hardened: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            create: true,
            busy_timeout: BUSY_TIMEOUT,
            checkpoint_pages: None,
            eager: false,
            hardened: false,
        }
    }
}

/// How a file keeps unfinished changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalMode {
    /// Write-ahead log: readers and a writer at once.
    WriteAhead,
    /// Rollback journal, where the file system offers no shared memory.
    Rollback,
}

/// One connection to one database file.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    /// Below the connection: released after it is closed.
    _mark: OpenMark,
    path: PathBuf,
    journal: JournalMode,
}

impl Database {
    /// Opens for reading and writing: write-ahead log, foreign keys on, waiting for locks.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        let location = DatabaseLocation::of(path)?;
        if !location.exists {
            if !options.create {
                location.must_exist()?;
            }
            match hermes_fs::create_new(&location.real, 0o600) {
                Ok(file) => drop(file),
                // Another process created the file meanwhile, by the same rule.
                Err(hermes_fs::Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut database = Self::connect(path, &location.real, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        database
            .configure(options)
            .map_err(Error::sqlite("open", path))?;
        Ok(database)
    }

    /// A connection without any pragma, to a file that exists. Follows no link, except in a URI.
    #[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
    fn connect(path: &Path, target: &Path, access: OpenFlags) -> Result<Self> {
        let mark = OpenMark::new(path)?;
        let mut flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if !access.contains(OpenFlags::SQLITE_OPEN_URI) {
            flags |= OpenFlags::SQLITE_OPEN_NOFOLLOW;
        }
        let connection =
            Connection::open_with_flags(target, flags).map_err(Error::sqlite("open", path))?;
        Ok(Self {
            connection,
            _mark: mark,
            path: path.to_owned(),
            journal: JournalMode::Rollback,
        })
    }

    /// Opens for reading only. Works in a directory we may not write to, unless a log that nobody
    /// else has indexed lies there.
    pub fn open_read_only(path: &Path) -> Result<Self> {
        Self::open_read_only_within(path, BUSY_TIMEOUT)
    }

    pub(crate) fn open_read_only_within(path: &Path, timeout: Duration) -> Result<Self> {
        let location = DatabaseLocation::of(path)?;
        // `immutable` ignores the log and all locks, so it is the last resort: only where no log
        // exists and none can be made.
        let immutable = !location.directory_is_writable() && crate::wal_size(&location.real)? == 0;
        Self::open_reader(path, &location, immutable, timeout)
    }

    /// Opens without locks, log or side files: for a file that no process writes to.
    pub(crate) fn open_immutable(path: &Path) -> Result<Self> {
        Self::open_reader(path, &DatabaseLocation::of(path)?, true, BUSY_TIMEOUT)
    }

    /// Opens for reading. Where this process may write, closing the last connection removes the side
    /// files that a reader needs. The content is never changed.
    pub fn open_for_inspection(path: &Path) -> Result<Self> {
        let location = DatabaseLocation::of(path)?;
        location.must_exist()?;
        if !location.is_writable() {
            return Self::open_read_only(path);
        }
        Self::connect(path, &location.real, OpenFlags::SQLITE_OPEN_READ_WRITE)?
            .for_reading(BUSY_TIMEOUT)
    }

    /// Opens a damaged file for reading what is left in it. Parts of the schema that contradict
    /// themselves are overlooked, so what it gives may be wrong: never for anything but salvage.
    pub fn open_for_salvage(path: &Path) -> Result<Self> {
        let location = DatabaseLocation::of(path)?;
        location.must_exist()?;
        let database = Self::connect(path, &location.real, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        // The first statement of all: any other would already look at the schema.
        let connection = &database.connection;
        connection
            .pragma_update(None, "writable_schema", true)
            .and_then(|()| connection.busy_timeout(BUSY_TIMEOUT))
            .map_err(Error::sqlite("read", path))?;
        Ok(database)
    }

    fn open_reader(
        path: &Path,
        location: &DatabaseLocation,
        immutable: bool,
        timeout: Duration,
    ) -> Result<Self> {
        location.must_exist()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let database = if immutable {
            let uri = location.immutable_uri();
            Self::connect(path, uri.as_ref(), flags | OpenFlags::SQLITE_OPEN_URI)?
        } else {
            Self::connect(path, &location.real, flags)?
        };
        database.for_reading(timeout)
    }

    fn for_reading(mut self, timeout: Duration) -> Result<Self> {
        self.prepare_reading(timeout)
            .map_err(Error::sqlite("read", &self.path))?;
        Ok(self)
    }

    fn prepare_reading(&mut self, timeout: Duration) -> rusqlite::Result<()> {
        self.connection.busy_timeout(timeout)?;
        self.connection.pragma_update(None, "query_only", true)?;
        // The first look at the file: says whether it is a database at all.
        self.connection
            .pragma_query_value(None, "user_version", |_| Ok(()))?;
        self.journal = read_journal(&self.connection)?;
        Ok(())
    }

    fn configure(&mut self, options: &OpenOptions) -> rusqlite::Result<()> {
        // Otherwise SQLite plans some statements again for every new value of a parameter, which
        // takes longer than running them. No table has statistics that a plan could gain from.
        self.connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        if options.eager {
            self.connection.busy_handler(Some(retry_soon))?;
        } else {
            self.connection.busy_timeout(options.busy_timeout)?;
        }
        self.journal = self.enter_wal(options.busy_timeout)?;
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        if let Some(pages) = options.checkpoint_pages {
            self.connection
                .pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(()))?;
        }
        if options.hardened {
            self.connection
                .pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
            self.connection
                .pragma_update(None, "cell_size_check", true)?;
        }
        self.connection.pragma_update(None, "foreign_keys", true)
    }

    /// Switches to the write-ahead log. A file system without shared memory keeps its rollback
    /// journal; that is slower and just as safe. SQLite does not wait for this lock by itself.
    fn enter_wal(&self, timeout: Duration) -> rusqlite::Result<JournalMode> {
        let start = Instant::now();
        loop {
            let mode = self.connection.pragma_update_and_check(
                None,
                "journal_mode",
                "WAL",
                journal_of_row,
            );
            match mode {
                Ok(journal) => return Ok(journal),
                // Network file systems refuse the log's locks. A file that is in that mode already
                // stays in it: others may have it open.
                Err(error)
                    if is_wal_refusal(&error)
                        && read_journal(&self.connection)? == JournalMode::Rollback =>
                {
                    return Ok(JournalMode::Rollback);
                }
                Err(error)
                    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                        && start.elapsed() < timeout =>
                {
                    std::thread::sleep(RETRY_PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The connection, for statements.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the file keeps unfinished changes.
    pub fn journal(&self) -> JournalMode {
        self.journal
    }

    /// Builds the closure for `map_err` on a statement of this connection.
    pub fn error(&self, action: &'static str) -> impl FnOnce(rusqlite::Error) -> Error {
        Error::sqlite(action, &self.path)
    }
}

/// Waits a few milliseconds, a random number of them, before a lock is tried again.
fn retry_soon(asked: i32) -> bool {
    if asked >= EAGER_TRIES {
        return false;
    }
    std::thread::sleep(pause_within(EAGER_PAUSE_MS));
    true
}

fn read_journal(connection: &Connection) -> rusqlite::Result<JournalMode> {
    connection.pragma_query_value(None, "journal_mode", journal_of_row)
}

fn journal_of_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<JournalMode> {
    let mode: String = row.get(0)?;
    Ok(if mode.eq_ignore_ascii_case("wal") {
        JournalMode::WriteAhead
    } else {
        JournalMode::Rollback
    })
}

fn is_wal_refusal(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            rusqlite::ErrorCode::FileLockingProtocolFailed
                | rusqlite::ErrorCode::AuthorizationForStatementDenied
        )
    )
}

/// A pause of random length.
pub(crate) fn pause_within(milliseconds: std::ops::Range<u64>) -> Duration {
    // Any spread will do; the clock's low digits differ between the processes that collided.
    let nanos = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| u64::from(since.subsec_nanos()));
    let spread = milliseconds.end - milliseconds.start;
    let mixed = nanos.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(std::process::id());
    Duration::from_millis(milliseconds.start + (mixed >> 7) % spread)
}
