//! What can be changed on a card afterwards, and its acceptance checks.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, assert_refuses};

#[test]
fn the_result_of_a_finished_card_can_be_changed() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let early = desk.kanban(&["edit", &id, "--result", "r"]);
    assert_refuses(
        &early,
        1,
        &format!("cannot edit the result of {id}: it is ready"),
    );
    desk.kanban(&["complete", &id, "--summary", "old"])
        .succeeds();
    desk.kanban(&["edit", &id, "--result", "new", "--metadata", r#"{"k": 1}"#])
        .succeeds()
        .prints(&format!("Edited {id}\n"));
    let card = desk.json(&["show", &id]);
    assert_eq!(card["task"]["result"], "new");
    assert_eq!(card["latest_summary"], "new");
    assert_eq!(card["runs"][0]["metadata"], json!({"k": 1}));
    desk.kanban(&["edit", &id]).exits(2);
    desk.kanban(&["edit", &id, "--summary", "x"]).exits(2);
    desk.kanban(&["edit", &id, "--result", "x", "--metadata", "[]"])
        .exits(2);
}

#[test]
fn checks_are_given_shown_and_changed() {
    let desk = Desk::new();
    let file = desk.home.put_outside(
        "checks",
        "# what must hold\n\nmake lint\n  make test \n",
        0o600,
    );
    let file = file.to_str().unwrap();
    let id = desk.create("x", &["--check", "cargo test", "--check-file", file]);
    let card = desk.json(&["show", &id]);
    assert_eq!(
        card["checks"],
        json!([
            {"position": 1, "command": "cargo test"},
            {"position": 2, "command": "make lint"},
            {"position": 3, "command": "make test"},
        ])
    );
    assert_eq!(card["checked"], "open");
    desk.kanban(&["show", &id])
        .succeeds()
        .prints_part("\nChecks (3, not run yet):\n  1. cargo test\n  2. make lint\n");
    desk.kanban(&["edit", &id, "--check", "true"]).succeeds();
    let card = desk.json(&["show", &id]);
    assert_eq!(card["checks"], json!([{"position": 1, "command": "true"}]));
    assert!(desk.events(&id).contains(&"checks_edited".to_owned()));
    desk.kanban(&["edit", &id, "--check", "true", "--no-checks"])
        .exits(2);
    desk.claimed(&id);
    desk.kanban(&["edit", &id, "--no-checks"])
        .exits(1)
        .says_part(&format!(
            "kanban: cannot change the checks of {id}: somebody is working on it"
        ));
    let other = desk.create("other", &["--check", "true"]);
    desk.kanban(&["edit", &other, "--no-checks"]).succeeds();
    assert_eq!(desk.json(&["show", &other])["checked"], "none");
    desk.kanban(&["complete", &other]).succeeds();
    for (flag, words) in [
        ("/nowhere/at/all", "/nowhere/at/all"),
        ("/dev/null", "no check"),
    ] {
        desk.kanban(&["create", "y", "--check-file", flag])
            .exits(1)
            .prints("")
            .says_part(words);
    }
}

#[test]
fn a_card_completed_by_another_program_is_unchecked() {
    let desk = Desk::new();
    let id = desk.create("x", &["--check", "true"]);
    desk.database()
        .execute(
            "UPDATE tasks SET status = 'done', completed_at = 5 WHERE id = ?1",
            [&id],
        )
        .unwrap();
    assert_eq!(desk.json(&["show", &id])["checked"], "unchecked");
    desk.kanban(&["show", &id])
        .succeeds()
        .prints_part("Checks (1, NOT run: the card was completed without them):\n  1. true\n");
}

#[test]
fn comments_are_cut_on_demand() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    desk.kanban(&["comment", &id, "one", "two", "--author", "me"])
        .succeeds()
        .prints(&format!("Comment added to {id}\n"));
    let long = "ä".repeat(300);
    desk.kanban(&["comment", &id, &long, "--max-len", "100"])
        .succeeds();
    desk.kanban(&["comment", &id, "x", "--max-len", "0"])
        .exits(2);
    desk.kanban(&["comment", &id, "  "])
        .exits(1)
        .says_part("kanban: a comment cannot be blank");
    let comments = desk.json(&["show", &id])["comments"].clone();
    assert_eq!(comments[0]["body"], "one two");
    assert_eq!(comments[0]["author"], "me");
    let cut = comments[1]["body"].as_str().unwrap();
    assert_eq!(cut.chars().count(), 100);
    assert!(
        cut.ends_with("[trimmed to 100 characters by --max-len]"),
        "{cut}"
    );
    assert_eq!(comments.as_array().unwrap().len(), 2);
}
