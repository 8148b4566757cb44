//! Copies of SQLite files that may be in use.

use std::path::Path;

use hermes_home::StepError;
use hermes_home::profiles::DatabaseCopy;
use hermes_store::BackupOptions;

/// Copies a database by SQLite's own means; leaves a file that is none to a plain copy.
pub(crate) fn copy_database(from: &Path, to: &Path) -> Result<DatabaseCopy, StepError> {
    match hermes_store::backup_to(from, to, &BackupOptions::default(), &mut |_| {}) {
        Ok(_) => Ok(DatabaseCopy::Copied),
        Err(hermes_store::Error::NotADatabase { .. }) => Ok(DatabaseCopy::NotADatabase),
        Err(error) => Err(error.into()),
    }
}
