//! SQLite, opened in one place.
//!
//! Every connection of the product is made here, so that the pragmas, the file mode, the rule
//! against symbolic links and the words of an error are the same everywhere. Nobody else opens,
//! reads or copies a database file: closing a plain descriptor of a live database drops SQLite's
//! POSIX locks of the whole process, and a plain copy loses what is still in the write-ahead log.
//! The SQL itself belongs to the crates that own the tables.

mod backup;
mod check;
mod database;
mod error;
mod header;
mod in_process;
mod location;
mod quarantine;
mod write_group;

pub use backup::backup_to;
pub use check::{Integrity, integrity_check, quick_check, quick_check_untouched};
pub use database::{Database, JournalMode, OpenOptions};
pub use error::{Error, Result};
pub use header::{Header, read_header};
pub use location::{is_sidecar_name, sidecars, wal_size};
pub use quarantine::keep_damaged_copy;
pub use rusqlite;
pub use write_group::Commit;
