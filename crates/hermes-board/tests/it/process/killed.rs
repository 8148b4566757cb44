//! Processes that die at one of their writes.

use std::path::Path;

use hermes_board::boards::{BoardSlug, MetadataChange};
use hermes_board::completion::complete_card;
use hermes_board::files::{NewFile, attach_bytes};
use hermes_board::model::{Object, TaskId};
use hermes_board::store::{BoardStore, Completion};
use hermes_board::{BoardOptions, ListQuery, StoredBoard};
use hermes_fs::fault::arm;
use serde_json::json;

use crate::check_round::{begin_as, checked_card, evidence, finish};
use crate::fixture::{below, card, claim, file, home_at};

fn board_at(root: &Path) -> StoredBoard {
    let board = home_at(root).select(None).unwrap();
    StoredBoard::open(&board, &BoardOptions::default()).unwrap()
}

fn first(board: &StoredBoard) -> TaskId {
    board.list(&ListQuery::default()).unwrap().remove(0).id
}

pub(crate) fn check(root: &Path, die_at: u64) {
    let mut board = board_at(root);
    let id = file(&mut board, &checked_card(&["check 1"]));
    arm(die_at);
    let begun = begin_as(&mut board, &id, std::process::id(), false).unwrap();
    board
        .record_check(begun.session.id, &evidence(1, 0))
        .unwrap();
    finish(&mut board, begun.session.id);
}

pub(crate) fn open(root: &Path, die_at: u64) {
    let board = home_at(root).select(None).unwrap();
    arm(die_at);
    drop(StoredBoard::open(&board, &BoardOptions::default()).unwrap());
}

pub(crate) fn complete(root: &Path, die_at: u64) {
    let mut board = board_at(root);
    let id = first(&board);
    let mut metadata = Object::new();
    metadata.insert("artifacts".to_owned(), json!(["out.txt"]));
    let completion = Completion {
        metadata: Some(metadata),
        ..Completion::default()
    };
    arm(die_at);
    complete_card(&mut board, &home_at(root), &id, &completion).unwrap();
}

pub(crate) fn attach(root: &Path, die_at: u64) {
    let mut board = board_at(root);
    let id = first(&board);
    let new = NewFile {
        name: "a.txt",
        content_type: None,
        uploaded_by: None,
    };
    arm(die_at);
    attach_bytes(&mut board, &id, &new, b"content").unwrap();
}

/// The life of a board.
pub(crate) fn board(root: &Path, die_at: u64) {
    let home = home_at(root);
    let slug = BoardSlug::parse("p").unwrap();
    let change = MetadataChange {
        description: Some("new".to_owned()),
        ..MetadataChange::default()
    };
    arm(die_at);
    home.create(&slug, &change, 1).unwrap();
    home.switch(&slug).unwrap();
    home.delete(&slug, 2).unwrap();
}

/// The life of two cards.
pub(crate) fn life(root: &Path, die_at: u64) {
    let mut board = board_at(root);
    arm(die_at);
    let parent = file(&mut board, &card("parent"));
    let child = file(&mut board, &below(&[&parent]));
    claim(&mut board, &parent);
    crate::fixture::complete(&mut board, &parent);
    claim(&mut board, &child);
}
