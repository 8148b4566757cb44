//! A database of numbers, for the tests and the other process.

use std::path::Path;

use hermes_store::rusqlite::Connection;
use hermes_store::{Database, Error, OpenOptions};

/// A database with a table of numbers.
pub(crate) fn numbers(path: &Path) -> Database {
    let database = Database::open(path, &OpenOptions::default()).unwrap();
    database
        .connection()
        .execute_batch("CREATE TABLE IF NOT EXISTS numbers (n INTEGER PRIMARY KEY, pad BLOB)")
        .unwrap();
    database
}

/// Writes one number as part of a group.
pub(crate) fn put(connection: &Connection, number: i64) -> Result<(), Error> {
    connection
        .execute("INSERT INTO numbers VALUES (?1, randomblob(500))", [number])
        .map(drop)
        .map_err(Error::sqlite("write to", Path::new("test")))
}

/// Adds one number.
pub(crate) fn add(database: &mut Database, number: i64) {
    let sql = "INSERT INTO numbers VALUES (?1, randomblob(2000))";
    database
        .write(|connection| {
            connection.execute(sql, [number]).unwrap();
            Ok::<(), Error>(())
        })
        .unwrap();
}
