//! Files that are damaged or something else.

use pretty_assertions::assert_eq;

use crate::{Desk, fields};

#[test]
fn a_broken_index_is_found_and_mended() {
    let desk = Desk::new();
    desk.talk("a", "cli", &["precious"]);
    desk.sessions(&["repair"])
        .succeeds()
        .prints("✓ The session database is sound\n");
    desk.sql("DELETE FROM messages_fts_data");
    let before = desk.database();
    let looked = desk.sessions(&["repair", "--check-only", "--json"]);
    assert_eq!(looked.exits(1).json()["state"], "damaged");
    desk.sessions(&["repair", "--check-only"])
        .exits(1)
        .prints_part("✗ The session database is damaged:");
    assert!(desk.database() == before, "looking changes nothing");
    let mended = desk.sessions(&["repair", "--json"]).succeeds().json();
    assert_eq!(
        fields(&mended),
        ["state", "findings", "how", "salvaged", "copy"]
    );
    assert_eq!(mended["how"], "in_place");
    assert!(std::path::Path::new(mended["copy"].as_str().unwrap()).exists());
    desk.sessions(&["search", "precious"])
        .succeeds()
        .prints_part(">>>precious<<<");
    desk.sessions(&["repair", "--check-only"]).succeeds();
}

#[test]
fn something_else_under_the_name_is_left_alone() {
    let desk = Desk::new();
    desk.home.put(
        "state.db",
        "these are notes, not a database, and they are long enough",
    );
    for verb in [
        &["list"][..],
        &["stats"],
        &["export", "-"],
        &["search", "x"],
        &["prune", "--yes"],
        &["delete", "x", "-y"],
        &["repair"],
    ] {
        desk.sessions(verb)
            .exits(1)
            .prints("")
            .says_part("is not an SQLite database");
    }
    assert!(desk.home.read("state.db").starts_with("these are notes"));
}

#[test]
fn a_torn_file_is_a_clear_refusal() {
    let desk = Desk::new();
    desk.talk("a", "cli", &["hello"]);
    desk.sql("PRAGMA journal_mode = DELETE");
    let path = desk.home.path("state.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    std::fs::write(&path, bytes).unwrap();
    let refused = desk.sessions(&["delete", "a", "-y"]);
    refused
        .exits(1)
        .prints("")
        .says_part("hermes sessions repair");
    desk.sessions(&["repair"])
        .succeeds()
        .prints_part("A copy of the file as it was: ");
    desk.sessions(&["list"]).succeeds();
    desk.sessions(&["repair", "--check-only"]).succeeds();
}
