//! The other process of the tests: `ROLE DATABASE …`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    reason = "a part of the tests, which says what it did and fails by panicking"
)]

#[path = "../fixture.rs"]
mod fixture;

use std::path::Path;

use fixture::{add, numbers, put};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["write-endlessly", database] => write_endlessly(Path::new(database)),
        ["two-writes", database, die_at] => {
            two_writes(Path::new(database), die_at.parse().unwrap());
        }
        other => panic!("no role: {other:?}"),
    }
}

/// Commits without end, and says how many commits it has done.
fn write_endlessly(path: &Path) {
    let mut database = numbers(path);
    for number in 1.. {
        add(&mut database, number);
        println!("committed {number}");
    }
}

/// One group of two writes, killed at a write point.
fn two_writes(path: &Path, die_at: u64) {
    let mut database = numbers(path);
    hermes_fs::fault::arm(die_at);
    database
        .write(|connection| {
            put(connection, 1)?;
            put(connection, 2)
        })
        .unwrap();
}
