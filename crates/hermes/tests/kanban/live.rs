//! The whole board, at a terminal and without one.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::Desk;

#[test]
fn without_a_terminal_the_board_is_printed() {
    let desk = Desk::new();
    let a = desk.create("first \u{202e}card", &["--assignee", "coder"]);
    let b = desk.create("second", &["--parent", &a]);
    let c = desk.create("third", &["--initial-status", "blocked"]);
    desk.kanban(&["board"]).succeeds().says("").prints(&format!(
        "Board: default\n\n\
         TODO 1\n  {b}  (unassigned)          second\n\n\
         READY 1\n  {a}  coder                 first \\u{{202e}}card\n\n\
         RUNNING 0\n\n\
         BLOCKED 1\n  {c}  (unassigned)          third\n\n\
         DONE 0\n"
    ));
    desk.kanban(&["board", "--assignee", "coder"])
        .succeeds()
        .prints_part("READY 1\n")
        .prints_part("TODO 0\n");
}

#[test]
fn programs_get_columns() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let board = desk.json(&["board"]);
    assert_eq!(board["board"], "default");
    assert!(board["now"].is_i64() && board["latest_event_id"].is_i64());
    let columns = board["columns"].as_array().unwrap();
    let names: Vec<&str> = columns
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "triage",
            "todo",
            "scheduled",
            "ready",
            "running",
            "blocked",
            "review",
            "done"
        ]
    );
    assert_eq!(columns[3]["total"], 1);
    assert_eq!(columns[3]["tasks"][0]["id"], id.as_str());
    assert_eq!(
        columns[0],
        json!({"name": "triage", "total": 0, "tasks": []})
    );
}

#[test]
fn at_a_terminal_the_board_follows_what_happens() {
    let desk = Desk::new();
    let id = desk.create("write the song", &["--body", "four verses"]);
    let mut board = desk
        .call(&["board"])
        .env("TERM", "xterm")
        .start_at_terminal();
    board.wait_for("Board default");
    board.wait_for("READY 1");
    board.wait_for("write the song");
    let other = desk.create("sing it", &[]);
    board.wait_for("READY 2");
    board.wait_for("sing it");
    desk.kanban(&["complete", &other]).succeeds();
    board.wait_for("DONE 1");
    board.press("\r");
    board.wait_for(&format!("Task {id}: write the song"));
    board.wait_for("four verses");
    desk.kanban(&["comment", &id, "a fifth verse"]).succeeds();
    board.wait_for("a fifth verse");
    board.press("q");
    board.wait_for("READY 1");
    board.press("\u{1b}[Cq");
    let outcome = board.wait();
    outcome.succeeds();
    let shown = &outcome.stdout;
    assert!(shown.starts_with("\u{1b}[?1049h"), "{shown:?}");
    assert!(shown.ends_with("\u{1b}[?25h\u{1b}[?1049l"), "{shown:?}");
}

#[test]
fn board_once_prints_once_at_a_terminal() {
    let desk = Desk::new();
    desk.create("x", &[]);
    let board = desk.call(&["board", "--once"]).start_at_terminal();
    let outcome = board.wait();
    outcome.succeeds().prints_part("Board: default\n\nTODO 0\n");
}

#[test]
fn leaving_the_board_restores_the_terminal() {
    let desk = Desk::new();
    for keys in ["\u{3}", "q", "\u{4}", "\u{1b}"] {
        let mut board = desk
            .call(&["board"])
            .env("TERM", "xterm")
            .start_at_terminal();
        board.wait_for("q quit");
        board.press(keys);
        let outcome = board.wait();
        outcome.succeeds();
        assert!(outcome.stdout.ends_with("\u{1b}[?1049l"), "{outcome}");
    }
}
