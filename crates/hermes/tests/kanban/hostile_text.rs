//! Texts that try to be more than text.

use hermes_board::store::{BoardStore, NewTask};
use pretty_assertions::assert_eq;

use crate::Desk;

const NASTY: &str = "red \u{1b}[31m\u{202e}desrever\u{7} two\r\nlines";

fn assert_harmless(text: &str) {
    let steers = |char: char| {
        (char.is_control() && char != '\n' && char != '\t')
            || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(steers), "{text:?}");
}

#[test]
fn nothing_on_a_card_steers_the_terminal() {
    let desk = Desk::new();
    let id = desk.create(
        NASTY,
        &[
            "--body",
            NASTY,
            "--tenant",
            NASTY,
            "--created-by",
            NASTY,
            "--check",
            NASTY,
        ],
    );
    desk.kanban(&["comment", &id, NASTY, "--author", NASTY])
        .succeeds();
    desk.kanban(&["block", &id, NASTY]).succeeds();
    desk.kanban(&["unblock", &id]).succeeds();
    let path = desk.home.put_outside("notes\u{202e}.txt", "n", 0o600);
    desk.kanban(&["attach", &id, path.to_str().unwrap()])
        .succeeds();
    let verbs: [&[&str]; 7] = [
        &["list"],
        &["show", &id],
        &["runs", &id],
        &["diagnostics"],
        &["attachments", &id],
        &["stats"],
        &["boards"],
    ];
    for verb in verbs {
        let outcome = desk.kanban(verb);
        assert_harmless(&outcome.succeeds().stdout);
    }
    desk.kanban(&["list"])
        .prints_part("red \\u{1b}[31m\\u{202e}desrever\\u{7} two  lines\n");
    assert_eq!(desk.json(&["show", &id])["task"]["title"], NASTY);
}

#[test]
fn names_that_are_not_names_are_shown_safely() {
    let desk = Desk::new();
    for verb in [
        &["show", NASTY][..],
        &["--board", NASTY, "list"],
        &["complete", NASTY],
        &["assign", "t_none", NASTY],
        &["unlink", NASTY, NASTY],
        &["log", NASTY],
        &["create", "x", "--workspace", NASTY],
    ] {
        let outcome = desk.kanban(verb);
        assert!(matches!(outcome.code, Some(1 | 2)), "{outcome}");
        assert_harmless(&outcome.stderr);
        assert_harmless(&outcome.stdout);
    }
}

#[test]
fn a_huge_title_is_stored_and_cut_in_lists() {
    let desk = Desk::new();
    let title = "ä".repeat(500_000) + &"z".repeat(48_576);
    let mut store = desk.store();
    let filed = store
        .create(&NewTask {
            body: Some("b".repeat(1_000_000)),
            ..NewTask::titled(&title)
        })
        .unwrap();
    let id = filed.task.id.as_str();
    drop(store);
    let listed = desk.kanban(&["list"]);
    listed.succeeds().prints_part(id).prints_part("ä…\n");
    assert!(listed.stdout.len() < 2000, "{} bytes", listed.stdout.len());
    let shown = desk.kanban(&["show", id]);
    assert!(shown.succeeds().stdout.lines().next().unwrap().len() < 2000);
    assert_eq!(desk.json(&["show", id])["task"]["title"], title.as_str());
    let context = desk.kanban(&["context", id]);
    assert!(context.succeeds().stdout.chars().count() < 600_000);
    desk.kanban(&["complete", id]).succeeds();
    // What an argument can hold goes through the front door.
    let long = "t".repeat(100_000);
    let by_argument = desk.create(&long, &[]);
    assert_eq!(
        desk.json(&["show", &by_argument])["task"]["title"],
        long.as_str()
    );
}
