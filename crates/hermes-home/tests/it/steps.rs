//! What the tests do themselves and have another process do.

use std::path::Path;

use hermes_home::backup::{
    BackupReport, BackupRequest, Restore, RestoreLimits, RestoreRequest, create_full,
};
use hermes_store::{Database, OpenOptions};

/// A database with a table of numbers.
pub(crate) fn open(path: &Path) -> Database {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let database = Database::open(path, &OpenOptions::default()).unwrap();
    database
        .connection()
        .execute_batch("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, pad BLOB)")
        .unwrap();
    database
}

/// Commits one row.
pub(crate) fn add_row(database: &mut Database) {
    let sql = "INSERT INTO t (pad) VALUES (randomblob(500))";
    database.connection().execute_batch(sql).unwrap();
}

/// Makes a full backup.
pub(crate) fn back_up(root: &Path, output: &Path) -> BackupReport {
    let request = BackupRequest {
        root,
        output,
        max_file_bytes: None,
    };
    create_full(&request, &mut |_| {}).unwrap()
}

/// Restores all of a backup.
pub(crate) fn import(zip: &Path, root: &Path) {
    let request = RestoreRequest {
        root,
        skip_databases: false,
        limits: RestoreLimits::default(),
    };
    let report = Restore::open(zip)
        .unwrap()
        .apply(&request, &mut |_| {})
        .unwrap();
    assert!(report.is_complete(), "{:?}", report.skipped);
}
