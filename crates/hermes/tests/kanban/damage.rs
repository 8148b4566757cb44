//! Files that are no board, or no longer one.

use std::fs;
use std::path::PathBuf;

use pretty_assertions::assert_eq;

use crate::{Desk, assert_sound};

/// A board with so many cards that it has more pages than the first.
fn filled() -> Desk {
    let desk = Desk::new();
    let body = "b".repeat(20_000);
    for number in 0..12 {
        desk.create(&format!("card {number}"), &["--body", &body]);
    }
    let database = desk.database();
    database
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    desk
}

fn copies(desk: &Desk) -> Vec<PathBuf> {
    let entries = fs::read_dir(desk.home.root()).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("kanban.db.corrupt.") && path.extension().unwrap() == "bak"
        })
        .collect()
}

/// Ten attempts at a damaged file, each refused, and the file as it was.
#[track_caller]
fn assert_refused_untouched(desk: &Desk, words: &str) {
    let path = desk.home.path("kanban.db");
    let before = fs::read(&path).unwrap();
    for verb in [&["list"][..], &["create", "x"]].iter().cycle().take(10) {
        let outcome = desk.kanban(verb);
        outcome
            .exits(1)
            .prints("")
            .says_part("kanban: could not initialize database: ")
            .says_part(words);
        assert!(fs::read(&path).unwrap() == before, "the file changed");
    }
    let copies = copies(desk);
    assert_eq!(copies.len(), 1, "{copies:?}");
    assert!(fs::read(&copies[0]).unwrap() == before);
}

// check 33
#[test]
fn garbage_is_not_a_board() {
    let desk = Desk::new();
    desk.home.put(
        "kanban.db",
        "this is a shopping list, not a database\n".repeat(50),
    );
    assert_refused_untouched(&desk, "is not a database");
}

// check 33
#[test]
fn a_damaged_page_is_refused() {
    let desk = filled();
    let path = desk.home.path("kanban.db");
    let mut bytes = fs::read(&path).unwrap();
    for page in 2..8 {
        bytes[page * 4096..page * 4096 + 2000].fill(0xA5);
    }
    fs::write(&path, bytes).unwrap();
    age_the_stamp(&desk);
    assert_refused_untouched(&desk, "is damaged and was not opened");
}

// check 33
#[test]
fn a_truncated_file_is_refused() {
    let desk = filled();
    let path = desk.home.path("kanban.db");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2 / 4096 * 4096]).unwrap();
    age_the_stamp(&desk);
    assert_refused_untouched(&desk, "is damaged and was not opened");
}

// check 33
#[test]
fn an_empty_file_is_a_fresh_board() {
    let desk = Desk::new();
    desk.home.put("kanban.db", "");
    desk.kanban(&["list"])
        .succeeds()
        .prints("(no matching tasks)\n");
    let id = desk.create("x", &[]);
    desk.kanban(&["list"]).succeeds().prints_part(&id);
    assert_eq!(copies(&desk), Vec::<PathBuf>::new());
}

/// As if the last check had been long ago.
fn age_the_stamp(desk: &Desk) {
    let stamp = fs::File::options()
        .write(true)
        .open(desk.home.path("kanban.db.init.lock"))
        .unwrap();
    stamp
        .set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
}

#[test]
fn one_bad_board_does_not_hide_the_others() {
    let desk = Desk::new();
    desk.create("x", &[]);
    desk.kanban(&["boards", "create", "bad"]).succeeds();
    desk.home.put(
        "kanban/boards/bad/kanban.db",
        "garbage, and more of it than a header has",
    );
    let boards = desk.json(&["boards", "list"]);
    assert_eq!(boards[0]["counts"], serde_json::json!({"ready": 1}));
    assert_eq!(boards[1]["counts"], serde_json::json!({}));
}

#[test]
fn unknown_tables_and_columns_are_tolerated() {
    let desk = Desk::new();
    let id = desk.create("known", &["--assignee", "coder"]);
    desk.database()
        .execute_batch(
            "ALTER TABLE tasks ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine';
             ALTER TABLE task_events ADD COLUMN weight REAL;
             CREATE TABLE task_feelings (task_id TEXT PRIMARY KEY, feeling TEXT NOT NULL);
             INSERT INTO tasks (id, title, status, created_at, mood)
                 VALUES ('t_newer', 'from the future', 'paused', 5, 'calm');
             INSERT INTO task_feelings VALUES ('t_newer', 'hope')",
        )
        .unwrap();
    desk.kanban(&["list"])
        .succeeds()
        .prints_part("? t_newer  paused    (unassigned)          from the future\n");
    desk.kanban(&["show", "t_newer"])
        .succeeds()
        .prints_part("  status:      paused\n");
    desk.kanban(&["complete", "t_newer"])
        .exits(1)
        .says_part("kanban: cannot complete t_newer: it is paused");
    desk.kanban(&["complete", &id]).succeeds();
    desk.create("another", &[]);
    let kept = desk.count(
        "SELECT count(*) FROM tasks t JOIN task_feelings f ON f.task_id = t.id
         WHERE t.mood = 'calm' AND t.status = 'paused' AND f.feeling = 'hope'",
    );
    assert_eq!(kept, 1);
    assert_sound(&desk.database());
}

#[test]
fn a_newer_schema_version_is_refused() {
    let desk = Desk::new();
    let id = desk.create("known", &[]);
    desk.database()
        .execute_batch(
            "CREATE TRIGGER strict BEFORE INSERT ON tasks WHEN NEW.tenant IS NULL
             BEGIN SELECT RAISE(ABORT, 'a tenant is required since version 3'); END",
        )
        .unwrap();
    desk.kanban(&["create", "x"])
        .exits(1)
        .prints("")
        .says_part("a tenant is required since version 3");
    desk.kanban(&["show", &id]).succeeds();
    assert_eq!(desk.count("SELECT count(*) FROM tasks"), 1);
    desk.create("with one", &["--tenant", "t"]);
}

// check 4
#[test]
fn a_board_of_the_first_release_is_migrated() {
    let desk = Desk::new();
    fs::create_dir_all(desk.home.root()).unwrap();
    desk.database()
        .execute_batch(include_str!(
            "../../../hermes-board/tests/fixtures/first-release.sql"
        ))
        .unwrap();
    desk.kanban(&["list"])
        .succeeds()
        .prints_part("● t_0001  running   coder                 Running since before attempts\n");
    let failed = desk.json(&["show", "t_0002"])["task"].clone();
    assert_eq!(failed["consecutive_failures"], 3);
    assert_eq!(failed["last_failure_error"], "no such profile");
    let running = desk.json(&["show", "t_0001"]);
    let runs = running["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(running["task"]["current_run_id"], runs[0]["id"]);
    assert_eq!(runs[0]["ended_at"], serde_json::Value::Null);
    assert_eq!(
        desk.events("t_0003"),
        ["created", "promoted", "reprioritized"]
    );
    desk.kanban(&["complete", "t_0001", "t_0003"]).succeeds();
    assert_sound(&desk.database());
}
