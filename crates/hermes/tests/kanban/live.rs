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

/// The live board at a terminal.
fn board(desk: &Desk) -> hermes_testkit::AtTerminal {
    let board = desk
        .call(&["board"])
        .env("TERM", "xterm")
        .start_at_terminal();
    board.wait_for("q quit");
    board
}

#[test]
fn keys_do_what_the_commands_of_these_names_do() {
    let desk = Desk::new();
    let id = desk.create("write the song", &["--initial-status", "blocked"]);
    let mut board = board(&desk);
    board.press("u");
    board.wait_for(&format!("{id} is unblocked: ready"));
    board.press("aco");
    board.wait_for("assign");
    board.press("der\r");
    board.wait_for(&format!("{id} is assigned to coder"));
    board.press("csooner, please\r");
    board.wait_for(&format!("comment added to {id}"));
    board.press("++-");
    board.wait_for(&format!("priority of {id}: 1"));
    board.press("xy\r");
    board.wait_for(&format!("cannot reclaim {id}: it is ready"));
    board.press("l");
    board.wait_for("no worker was started for it");
    board.press("qs");
    board.wait_for("has reported its conversation yet");
    board.press("q?");
    board.wait_for("Moving");
    board.press("qq");
    board.wait().succeeds();
    let card = desk.json(&["show", &id]);
    assert_eq!(card["task"]["status"], "ready");
    assert_eq!(card["task"]["assignee"], "coder");
    assert_eq!(card["task"]["priority"], 1);
    assert_eq!(card["comments"][0]["body"], "sooner, please");
    let kinds: Vec<&str> = card["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| **kind == "reprioritized")
            .count(),
        3
    );
}

#[test]
fn a_log_is_followed_and_steers_no_terminal() {
    let desk = Desk::new();
    let id = desk.create("write the song", &[]);
    let log = desk.home.path(&format!("kanban/logs/{id}.log"));
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, "first line\n").unwrap();
    let mut board = board(&desk);
    board.press("l");
    board.wait_for("first line");
    std::fs::write(&log, "first line\nsecond \u{1b}]0;x\u{7} line\n").unwrap();
    board.wait_for("second ");
    board.press("qq");
    let outcome = board.wait();
    outcome.succeeds();
    assert!(!outcome.stdout.contains("\u{1b}]0;"), "{outcome}");
}

#[test]
fn colours_mean_something_and_can_be_switched_off() {
    let desk = Desk::new();
    desk.create("write the song", &["--initial-status", "blocked"]);
    let shown = |name: &str, value: &str| {
        let call = desk.call(&["board"]).env("TERM", "xterm").env(name, value);
        let mut board = call.start_at_terminal();
        board.wait_for("q quit");
        board.press("q");
        board.wait().stdout
    };
    let red = "\u{1b}[38;5;1m";
    assert!(shown("LANG", "C.UTF-8").contains(red));
    let plain = shown("NO_COLOR", "1");
    assert!(
        !plain.contains(red) && plain.contains("BLOCKED 1"),
        "{plain}"
    );
    let ascii = shown("LC_ALL", "C");
    assert!(ascii.is_ascii() && ascii.contains("x "), "{ascii:?}");
    let dumb = desk.call(&["board"]).env("TERM", "dumb");
    let dumb = dumb.start_at_terminal().wait();
    dumb.succeeds().prints_part("BLOCKED 1");
    assert!(!dumb.stdout.contains('\u{1b}'), "{dumb}");
}

#[test]
fn ctrl_z_gives_the_terminal_back_until_it_goes_on() {
    let desk = Desk::new();
    desk.create("write the song", &[]);
    // Only a shell with jobs can stop one and let it go on.
    let shell = "set -m; \"$0\" \"$@\"; echo stopped-by-ctrl-z; fg > /dev/null";
    let mut board = desk
        .call(&["board"])
        .env("TERM", "xterm")
        .wrapped(["bash", "-c", shell])
        .start_at_terminal();
    board.wait_for("q quit");
    board.press("\u{1a}");
    board.wait_for("\u{1b}[?1049l");
    board.wait_for("stopped-by-ctrl-z");
    board.wait_for("write the song");
    board.press("q");
    board.wait().succeeds();
}
