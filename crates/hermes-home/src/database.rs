//! The databases of a home, which are never copied as files but by `hermes_store::backup_to`: a raw
//! copy loses what is still in the log, and somebody may be writing.

use std::path::Path;

/// Whether a file is a database by its name.
pub(crate) fn is_database(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "db")
}
