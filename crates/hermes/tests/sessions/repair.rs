//! Database files that are damaged or are not databases.

use pretty_assertions::assert_eq;

use crate::{SessionHome, fields};

#[test]
fn a_broken_index_is_found_and_repaired() {
    let home = SessionHome::new();
    home.talk("a", "cli", &["precious"]);
    home.sessions(&["repair"])
        .succeeds()
        .prints("✓ The session database is sound\n");
    home.sql("DELETE FROM messages_fts_data");
    let before = home.database();
    let looked = home.sessions(&["repair", "--check-only", "--json"]);
    assert_eq!(looked.exits(1).json()["state"], "damaged");
    home.sessions(&["repair", "--check-only"])
        .exits(1)
        .prints_part("✗ The session database is damaged:");
    assert!(home.database() == before, "looking changes nothing");
    let mended = home.sessions(&["repair", "--json"]).succeeds().json();
    assert_eq!(
        fields(&mended),
        ["state", "findings", "how", "salvaged", "copy"]
    );
    assert_eq!(mended["how"], "in_place");
    assert!(std::path::Path::new(mended["copy"].as_str().unwrap()).exists());
    home.sessions(&["search", "precious"])
        .succeeds()
        .prints_part(">>>precious<<<");
    home.sessions(&["repair", "--check-only"]).succeeds();
}

#[test]
fn a_file_that_is_not_a_database_is_left_alone() {
    let home = SessionHome::new();
    home.home.put(
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
        home.sessions(verb)
            .exits(1)
            .prints("")
            .says_part("is not an SQLite database");
    }
    assert!(home.home.read("state.db").starts_with("these are notes"));
}

#[test]
fn a_truncated_file_is_refused_with_a_clear_error() {
    let home = SessionHome::new();
    home.talk("a", "cli", &["hello"]);
    home.sql("PRAGMA journal_mode = DELETE");
    let path = home.home.path("state.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    std::fs::write(&path, bytes).unwrap();
    let refused = home.sessions(&["delete", "a", "-y"]);
    refused
        .exits(1)
        .prints("")
        .says_part("hermes sessions repair");
    home.sessions(&["repair"])
        .succeeds()
        .prints_part("Copy of the original file: ");
    home.sessions(&["list"]).succeeds();
    home.sessions(&["repair", "--check-only"]).succeeds();
}
