//! Backups of a whole home, snapshots of its most important files, and the way back.
//!
//! **Full backup** ([`create_full`]): a zip of the root, credentials included, mode 0600. It is
//! built in a hidden directory beside the output and renamed at the end. Databases pass through
//! SQLite's online backup, never as raw files: a raw copy loses what is still in the log.
//!
//! **Quick snapshot** ([`create_quick`]): a directory `state-snapshots/<id>/` with the files that
//! hurt most to lose. The newest twenty are kept.
//!
//! **Restore** ([`Restore`]): a killed import leaves the old state or the new one, never half of
//! each. It goes like this, all under the lock `.import.lock`:
//!
//! 1. Everything is unpacked to `<root>/.import.tmp-<pid>/` and checked: checksums, sizes, names,
//!    links in the target path, integrity of databases. Killed here: the old state; the directory
//!    is garbage that the next import removes.
//! 2. One flush of the file system, then the journal `.import.journal` is written atomically. It
//!    lists the moves. From now on the new state is decided.
//! 3. The files are moved one by one, each by a rename. Before a database is replaced, its old
//!    `-wal`, `-shm` and `-journal` are removed and that removal is made durable: SQLite would
//!    replay an old log into the new file. Killed here: [`recover`], which every command that
//!    touches the home calls first, carries on from the journal; a move whose source is gone has
//!    been done. Removing the log first means that an old database without its log may be seen
//!    until then, never a new one with a foreign log.
//! 4. A flush, then the journal is removed, then the directory.
//!
//! Files that the backup does not hold stay as they are.

mod error;
mod exclude;
mod full;
mod journal;
pub(crate) mod pending_output;
mod progress;
mod quick;
mod restore;
mod stage;
mod walk;

pub use error::{Error, Result};
pub use full::{BackupReport, BackupRequest, OversizedFile, create_full};
pub use journal::{Recovered, is_interrupted, recover};
pub use progress::{BackupProgress, SkippedFile};
pub use quick::{QuickReport, QuickRequest, create_quick};
pub use restore::{Inspection, Restore, RestoreRequest};
pub use stage::{RestoreLimits, RestoreReport};
