//! The databases of a home, which are never copied as files: a raw copy loses what is still in the
//! log, and somebody may be writing.

use std::path::Path;

/// Whether a file is a database by its name.
pub(crate) fn is_database(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "db")
}

/// Copies a database that may be in use to a path that does not exist yet, with mode 0600. Gives the
/// size of the copy.
pub(crate) fn copy_database(from: &Path, to: &Path) -> hermes_store::Result<u64> {
    let options = hermes_store::BackupOptions::default();
    hermes_store::backup_to(from, to, &options, &mut |_| {})
}
