//! `hermes-store` against real files, threads and processes.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod backup;
mod damage;
mod open;
mod write_group;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hermes_store::{Database, OpenOptions};

/// Permission bits of a file.
fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A database with a table of numbers.
fn numbers(path: &Path) -> Database {
    let database = Database::open(path, &OpenOptions::default()).unwrap();
    database
        .connection()
        .execute_batch("CREATE TABLE IF NOT EXISTS numbers (n INTEGER PRIMARY KEY, pad BLOB)")
        .unwrap();
    database
}

/// How many numbers there are.
fn count(path: &Path) -> i64 {
    Database::open_read_only(path)
        .unwrap()
        .connection()
        .query_row("SELECT count(*) FROM numbers", [], |row| row.get(0))
        .unwrap()
}

/// Adds one number.
fn add(database: &mut Database, number: i64) {
    let sql = "INSERT INTO numbers VALUES (?1, randomblob(2000))";
    database
        .write(|connection| {
            connection.execute(sql, [number]).unwrap();
            Ok::<(), hermes_store::Error>(())
        })
        .unwrap();
}
