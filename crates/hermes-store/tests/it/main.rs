//! `hermes-store` against real files, threads and processes.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod backup;
mod damage;
mod fixture;
mod open;
mod write_group;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use fixture::{add, numbers};
use hermes_store::Database;

/// Permission bits of a file.
fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// How many numbers there are.
fn count(path: &Path) -> i64 {
    Database::open_read_only(path)
        .unwrap()
        .connection()
        .query_row("SELECT count(*) FROM numbers", [], |row| row.get(0))
        .unwrap()
}
