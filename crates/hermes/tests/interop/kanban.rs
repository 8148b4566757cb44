//! One board, two programs: what either writes on it, the other reads, also at the same time.
//!
//! `// check N` names the acceptance check of the chapter on the board.

use std::thread;

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::reference::Version;
use crate::world::World;

with_each_reference!(
    a_board_of_theirs_is_worked_on_here,
    a_board_of_ours_is_worked_on_there,
    both_programs_write_at_once,
    named_boards_are_shared,
    a_card_with_checks_that_they_complete_is_unchecked,
    a_reviewed_card_is_worked_on_there,
);

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// `kanban …` of either program, as JSON.
fn ask(run: &dyn Fn(&[&str]) -> String, args: &[&str]) -> Value {
    let args: Vec<&str> = ["kanban"]
        .iter()
        .chain(args)
        .chain(&["--json"])
        .copied()
        .collect();
    json(&run(&args))
}

fn id(card: &Value) -> String {
    card["id"].as_str().unwrap().to_owned()
}

/// Name, title, status and assignee of each card: what a list is about.
fn essence(cards: &Value) -> Vec<[String; 4]> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut found: Vec<[String; 4]> = cards
        .as_array()
        .unwrap()
        .iter()
        .map(|card| ["id", "title", "status", "assignee"].map(|key| text(&card[key])))
        .collect();
    found.sort();
    found
}

/// Checks that both list the same cards and that their SQLite finds nothing wrong.
#[track_caller]
fn assert_agreed(world: &World) {
    let ours = ask(&|args| world.ours(args), &["list", "--archived"]);
    let theirs = ask(&|args| world.theirs(args), &["list", "--archived"]);
    assert_eq!(essence(&ours), essence(&theirs));
    let script = "import sqlite3, sys\n\
                  print(sqlite3.connect(sys.argv[1]).execute('pragma integrity_check').fetchone()[0])";
    let path = world.root("kanban.db");
    assert_eq!(world.python(script, &[path.to_str().unwrap()]).trim(), "ok");
}

// check 2
fn a_board_of_theirs_is_worked_on_here(version: Version) {
    let world = World::empty(version);
    let theirs = |args: &[&str]| world.theirs(args);
    let ours = |args: &[&str]| world.ours(args);
    let parent = id(&ask(
        &theirs,
        &[
            "create",
            "parent",
            "--assignee",
            "coder",
            "--body",
            "schön 日本",
        ],
    ));
    let child = id(&ask(
        &theirs,
        &[
            "create",
            "child",
            "--parent",
            &parent,
            "--priority",
            "3",
            "--max-runtime",
            "2h",
            "--skill",
            "review",
        ],
    ));
    let held = id(&ask(&theirs, &["create", "held", "--tenant", "acme"]));
    world.theirs(&["kanban", "comment", &parent, "a word", "--author", "them"]);
    world.theirs(&["kanban", "block", &held, "which one?"]);
    world.theirs(&["kanban", "claim", &parent]);

    let listed = ask(&ours, &["list"]);
    let statuses: Vec<&str> = ["running", "todo", "blocked"].to_vec();
    for (card, status) in [&parent, &child, &held].into_iter().zip(statuses) {
        let found = listed
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["id"] == card.as_str());
        assert_eq!(found.unwrap()["status"], status);
    }
    let shown = ask(&ours, &["show", &parent]);
    assert_eq!(shown["task"]["body"], "schön 日本");
    assert_eq!(shown["comments"][0]["body"], "a word");
    assert_eq!(shown["children"], serde_json::json!([child]));
    assert_eq!(shown["runs"][0]["status"], "running");
    let shown = ask(&ours, &["show", &child]);
    assert_eq!(shown["task"]["max_runtime_seconds"], 7200);
    assert_eq!(shown["task"]["skills"], serde_json::json!(["review"]));

    world.ours(&[
        "kanban",
        "complete",
        &parent,
        "--summary",
        "opened the door",
    ]);
    world.ours(&["kanban", "unblock", &held]);
    world.ours(&["kanban", "comment", &child, "go ahead"]);
    assert_agreed(&world);
    let theirs_now = ask(&theirs, &["show", &parent]);
    assert_eq!(theirs_now["task"]["status"], "done");
    assert_eq!(theirs_now["latest_summary"], "opened the door");
    assert_eq!(theirs_now["runs"][0]["outcome"], "completed");
    assert_eq!(ask(&theirs, &["show", &child])["task"]["status"], "ready");
    let context = world.theirs(&["kanban", "context", &child]);
    assert!(
        context.contains("opened the door") && context.contains("go ahead"),
        "{context}"
    );
}

// check 3
fn a_board_of_ours_is_worked_on_there(version: Version) {
    let world = World::empty(version);
    let theirs = |args: &[&str]| world.theirs(args);
    let ours = |args: &[&str]| world.ours(args);
    let first = id(&ask(
        &ours,
        &["create", "first", "--assignee", "coder", "--goal"],
    ));
    let second = id(&ask(&ours, &["create", "second", "--parent", &first]));
    let held = id(&ask(
        &ours,
        &["create", "held", "--initial-status", "blocked"],
    ));
    let later = id(&ask(
        &ours,
        &["create", "later", "--scheduled-at", "4000000000"],
    ));
    world.ours(&["kanban", "comment", &first, "a word"]);

    let third = id(&ask(&theirs, &["create", "third", "--parent", &second]));
    world.theirs(&["kanban", "claim", &first]);
    assert_eq!(ask(&ours, &["show", &first])["task"]["status"], "running");
    world.theirs(&["kanban", "complete", &first, "--summary", "theirs"]);
    let dry = ask(&theirs, &["dispatch", "--dry-run"]);
    assert_eq!(dry["skipped_unassigned"], serde_json::json!([second]));
    assert_agreed(&world);
    for (card, status) in [
        (&first, "done"),
        (&second, "ready"),
        (&third, "todo"),
        (&held, "blocked"),
        (&later, "scheduled"),
    ] {
        assert_eq!(
            ask(&ours, &["show", card])["task"]["status"],
            status,
            "{card}"
        );
    }
    assert_eq!(ask(&ours, &["show", &first])["latest_summary"], "theirs");
    world.theirs(&["kanban", "archive", &held]);
    world.ours(&["kanban", "archive", &later]);
    assert_agreed(&world);
}

fn both_programs_write_at_once(version: Version) {
    let world = World::empty(version);
    world.ours(&["kanban", "init"]);
    thread::scope(|scope| {
        for writer in 0..2 {
            let world = &world;
            scope.spawn(move || {
                for number in 0..4 {
                    world.theirs(&["kanban", "create", &format!("theirs {writer} {number}")]);
                }
            });
            scope.spawn(move || {
                for number in 0..60 {
                    world.ours(&["kanban", "create", &format!("ours {writer} {number}")]);
                }
            });
        }
    });
    let cards = ask(&|args| world.theirs(args), &["list"]);
    let count = |name: &str| {
        let cards = cards.as_array().unwrap().iter();
        cards
            .filter(|card| card["title"].as_str().unwrap().starts_with(name))
            .count()
    };
    assert_eq!((count("theirs"), count("ours")), (8, 120));
    assert_agreed(&world);
}

fn named_boards_are_shared(version: Version) {
    let world = World::empty(version);
    world.theirs(&[
        "kanban", "boards", "create", "site", "--name", "The Site", "--icon", "S",
    ]);
    world.ours(&["kanban", "boards", "rename", "site", "Pages"]);
    world.ours(&["kanban", "boards", "create", "ours", "--switch"]);
    world.ours(&["kanban", "create", "on ours"]);
    world.theirs(&["kanban", "--board", "site", "create", "on site"]);
    let boards = |run: &dyn Fn(&[&str]) -> String| {
        let boards = ask(run, &["boards", "list"]);
        let boards = boards.as_array().unwrap().clone();
        boards
            .into_iter()
            .map(|board| {
                let counts = board["counts"].to_string();
                (
                    board["slug"].clone(),
                    board["name"].clone(),
                    board["is_current"].clone(),
                    counts,
                )
            })
            .collect::<Vec<_>>()
    };
    let ours = boards(&|args| world.ours(args));
    assert_eq!(ours, boards(&|args| world.theirs(args)));
    assert_eq!(ours.len(), 3);
    assert!(ours.iter().any(|board| board.1 == "Pages"));
    world.theirs(&["kanban", "boards", "switch", "site"]);
    let shown = world.ours(&["kanban", "list"]);
    assert!(
        shown.starts_with("Board: site ") && shown.contains("on site"),
        "{shown}"
    );
    world.theirs(&["kanban", "boards", "rm", "site"]);
    assert!(
        world
            .ours(&["kanban", "list"])
            .starts_with("Board: default ")
    );
}

fn a_card_with_checks_that_they_complete_is_unchecked(version: Version) {
    let world = World::empty(version);
    let ours = |args: &[&str]| world.ours(args);
    let card = id(&ask(&ours, &["create", "x", "--check", "exit 1"]));
    world.theirs(&["kanban", "complete", &card]);
    let shown = ask(&ours, &["show", &card]);
    assert_eq!(shown["task"]["status"], "done");
    assert_eq!(shown["checked"], "unchecked");
    assert_agreed(&world);
}

fn a_reviewed_card_is_worked_on_there(version: Version) {
    let world = World::empty(version);
    let theirs = |args: &[&str]| world.theirs(args);
    let ours = |args: &[&str]| world.ours(args);
    let card = id(&ask(&ours, &["create", "reviewed", "--on-approve", "none"]));
    ours(&["kanban", "claim", &card]);
    let file = world.root(&format!("kanban/workspaces/{card}/a.txt"));
    std::fs::write(file, "one\ntwo\n").unwrap();
    ours(&["kanban", "block", &card, "review-required: look"]);
    ours(&["kanban", "review", "comment", &card, "a.txt:2", "why two?"]);
    ours(&[
        "kanban",
        "review",
        "request-changes",
        &card,
        "one is enough",
    ]);
    assert_agreed(&world);
    let context = theirs(&["kanban", "context", &card]);
    assert!(
        context.contains("CHANGES REQUESTED: one is enough"),
        "{context}"
    );
    // Neither holds it back.
    let shown = ask(&theirs, &["show", &card]);
    assert_eq!(shown["task"]["status"], "ready");
    theirs(&["kanban", "complete", &card, "--summary", "one it is"]);
    ours(&["kanban", "review", "approve", &card]);
    assert_agreed(&world);
    let shown = ask(&ours, &["show", &card]);
    assert_eq!(shown["review"]["comments"][0]["body"], "why two?");
    assert_eq!(shown["review"]["approval"]["action"], "none");
    let shown = ask(&theirs, &["show", &card]);
    let kinds = shown["events"].to_string();
    assert!(kinds.contains("approved"), "{kinds}");
}
