//! Processes that do the same at the same time.

use std::path::Path;

use hermes_board::store::{BoardStore, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest, NewTask};
use hermes_board::{BoardOptions, ListQuery, StoredBoard};

use crate::fixture::{card, file, home_at};

fn open_at(root: &Path) -> StoredBoard {
    let board = home_at(root).select(None).unwrap();
    StoredBoard::open(&board, &BoardOptions::default()).unwrap()
}

pub(crate) fn create_with_one_key(root: &Path) {
    let new = NewTask {
        idempotency_key: Some("K".to_owned()),
        ..card("once")
    };
    println!("id {}", open_at(root).create(&new).unwrap().task.id);
}

pub(crate) fn create(root: &Path, number: u64) {
    let mut board = open_at(root);
    for count in 0..150 {
        file(&mut board, &card(&format!("card {number}-{count}")));
    }
}

pub(crate) fn claim(root: &Path, number: u64) {
    let mut board = open_at(root);
    for task in board.list(&ListQuery::default()).unwrap() {
        let request = ClaimRequest {
            task: task.id.clone(),
            lock: format!("host:{number}"),
            ttl_seconds: 900,
            from: ClaimFrom::Ready,
            dispatcher: None,
            host: None,
            caps: ClaimCaps::default(),
        };
        if let ClaimOutcome::Claimed(_) = board.claim(&request).unwrap() {
            println!("id {}", task.id);
        }
    }
}

/// Until nothing more can be written: that is an error of the place, not of the file.
pub(crate) fn fill(root: &Path) {
    let mut board = open_at(root);
    loop {
        if let Err(error) = board.create(&card(&"x".repeat(2000))) {
            assert!(!error.is_damage(), "{error}");
            assert!(error.hint().is_some(), "{error}");
            println!("refused: {error}");
            break;
        }
        println!("filed");
    }
}
