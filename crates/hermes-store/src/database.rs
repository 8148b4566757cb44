//! A connection with the house rules applied.
//!
//! Owns the pragmas and the creation of the file. It must never follow a symbolic link to the
//! file, never loosen the mode of an existing one and never set an application id on a file that
//! the reference shares.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::location::Location;
use crate::{Error, Result};

/// How long a statement waits for another connection's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between tries where SQLite does not wait by itself.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// When a commit counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// After it is on disk: a lost row would be a lost promise.
    #[default]
    Full,
    /// After it is in the log; a power failure may take the last commits, never the consistency.
    Normal,
}

/// How to open a database for writing.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    /// Durability of a commit.
    pub synchronous: Synchronous,
    /// Whether a missing file is created (mode 0600) or an error.
    pub create: bool,
    /// Longest wait for a lock.
    pub busy_timeout: Duration,
    /// Newest `user_version` this program writes. A file beyond it is opened read-only. `None`
    /// for files whose version is kept elsewhere.
    pub supported_schema: Option<i64>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::Full,
            create: true,
            busy_timeout: BUSY_TIMEOUT,
            supported_schema: None,
        }
    }
}

/// What a connection may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read and write.
    ReadWrite,
    /// Read, because that was asked for.
    ReadOnly,
    /// Read, because a newer program has changed the schema.
    NewerSchema {
        /// Version in the file.
        found: i64,
        /// Newest version this program writes.
        supported: i64,
    },
}

/// One connection to one database file.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    path: PathBuf,
    access: Access,
}

impl Database {
    /// Opens for reading and writing: write-ahead log, foreign keys on, waiting for locks.
    #[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        let location = Location::of(path)?;
        if !location.exists {
            if !options.create {
                location.must_exist()?;
            }
            match hermes_fs::create_new(&location.real, 0o600) {
                Ok(file) => drop(file),
                // Another process was faster; it made the file by the same rule.
                Err(hermes_fs::Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(&location.real, flags)
            .map_err(Error::sqlite("open", path))?;
        let mut database = Self {
            connection,
            path: path.to_owned(),
            access: Access::ReadWrite,
        };
        database
            .configure(options)
            .map_err(Error::sqlite("open", path))?;
        Ok(database)
    }

    /// Opens for reading only. Works in a directory we may not write to, unless a log that nobody
    /// else has indexed lies there.
    pub fn open_read_only(path: &Path) -> Result<Self> {
        Self::open_read_only_within(path, BUSY_TIMEOUT)
    }

    pub(crate) fn open_read_only_within(path: &Path, patience: Duration) -> Result<Self> {
        let location = Location::of(path)?;
        // `immutable` ignores the log and all locks, so it is the last resort: only where no log
        // exists and none can be made.
        let immutable = !location.directory_is_writable() && crate::wal_size(&location.real)? == 0;
        Self::open_reader(path, &location, immutable, patience)
    }

    /// Opens without locks, log or side files: for a look at a file that nobody writes to.
    pub(crate) fn open_immutable(path: &Path) -> Result<Self> {
        Self::open_reader(path, &Location::of(path)?, true, BUSY_TIMEOUT)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
    fn open_reader(
        path: &Path,
        location: &Location,
        immutable: bool,
        patience: Duration,
    ) -> Result<Self> {
        location.must_exist()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = if immutable {
            Connection::open_with_flags(
                location.immutable_uri(),
                flags | OpenFlags::SQLITE_OPEN_URI,
            )
        } else {
            Connection::open_with_flags(&location.real, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW)
        }
        .map_err(Error::sqlite("open", path))?;
        let database = Self {
            connection,
            path: path.to_owned(),
            access: Access::ReadOnly,
        };
        database
            .connection
            .busy_timeout(patience)
            .and_then(|()| database.connection.pragma_update(None, "query_only", true))
            // The first look at the file: says whether it is a database at all.
            .and_then(|()| read_user_version(&database.connection).map(drop))
            .map_err(Error::sqlite("read", path))?;
        Ok(database)
    }

    fn configure(&mut self, options: &OpenOptions) -> rusqlite::Result<()> {
        self.connection.busy_timeout(options.busy_timeout)?;
        let found = read_user_version(&self.connection)?;
        if let Some(supported) = options.supported_schema
            && found > supported
        {
            self.access = Access::NewerSchema { found, supported };
            return self.connection.pragma_update(None, "query_only", true);
        }
        self.enter_wal(options.busy_timeout)?;
        let synchronous = match options.synchronous {
            Synchronous::Full => "FULL",
            Synchronous::Normal => "NORMAL",
        };
        self.connection
            .pragma_update(None, "synchronous", synchronous)?;
        self.connection.pragma_update(None, "foreign_keys", true)
    }

    /// Switches to the write-ahead log. A file system without shared memory keeps its rollback
    /// journal; that is slower and just as safe. SQLite does not wait for this lock by itself.
    fn enter_wal(&self, patience: Duration) -> rusqlite::Result<()> {
        let start = Instant::now();
        loop {
            let mode =
                self.connection
                    .pragma_update_and_check(None, "journal_mode", "WAL", |row| {
                        row.get::<_, String>(0)
                    });
            match mode {
                Ok(_) => return Ok(()),
                Err(error)
                    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                        && start.elapsed() < patience =>
                {
                    std::thread::sleep(RETRY_PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Starts a transaction that takes the write lock at once, so that it cannot fail halfway for
    /// want of it.
    pub fn transaction_immediate(&mut self) -> Result<Transaction<'_>> {
        if let Access::NewerSchema { found, supported } = self.access {
            return Err(Error::NewerSchema {
                path: self.path.clone(),
                found,
                supported,
            });
        }
        self.connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(Error::sqlite("write to", &self.path))
    }

    /// The connection, for statements.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What this connection may do.
    pub fn access(&self) -> Access {
        self.access
    }

    /// `user_version` of the file.
    pub fn schema_version(&self) -> Result<i64> {
        read_user_version(&self.connection).map_err(Error::sqlite("read", &self.path))
    }

    /// Builds the closure for `map_err` on a statement of this connection.
    pub fn error(&self, action: &'static str) -> impl FnOnce(rusqlite::Error) -> Error {
        Error::sqlite(action, &self.path)
    }
}

fn read_user_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
