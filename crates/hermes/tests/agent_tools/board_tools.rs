//! `hermes tools call kanban_…` where a worker runs.

use hermes_board::model::{TaskId, Termination};
use hermes_board::store::{Applied, BoardStore};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::Desk;

#[test]
fn a_worker_reads_works_and_completes() {
    let desk = Desk::new();
    let id = desk.create(
        "count",
        &["--body", "Count the files.", "--assignee", "coder"],
    );
    let next = desk.create("then", &["--assignee", "coder", "--parent", &id]);
    let run = desk.claimed(&id);
    let shown = desk.worker(&id, run, "kanban_show", json!({}));
    let shown = shown.succeeds().json();
    let text = shown["worker_context"].as_str().unwrap();
    assert!(text.contains("Count the files."), "{text}");
    desk.worker(&id, run, "kanban_heartbeat", json!({"note": "counting"}))
        .succeeds();
    let args = json!({"summary": "There are 4.", "metadata": {"files": 4}});
    let done = desk.worker(&id, run, "kanban_complete", args);
    assert_eq!(
        done.succeeds().json(),
        json!({"ok": true, "task_id": id, "run_id": run})
    );
    assert_eq!(desk.status(&id), "done");
    assert_eq!(desk.status(&next), "ready");
    let card = desk.kanban(&["show", &id]);
    assert_eq!(card["runs"][0]["metadata"]["files"], 4);
}

// check 34
#[test]
fn a_worker_keeps_to_its_card_and_its_attempt() {
    let desk = Desk::new();
    let (own, other) = (desk.create("own", &[]), desk.create("other", &[]));
    let stale = desk.claimed(&own);
    desk.claimed(&other);
    for (tool, args) in [
        ("kanban_complete", json!({"task_id": other, "summary": "x"})),
        ("kanban_block", json!({"task_id": other, "reason": "x"})),
        ("kanban_heartbeat", json!({"task_id": other})),
    ] {
        let refused = desk.worker(&own, stale, tool, args);
        let result = refused.exits(1).json();
        let message = result["error"].as_str().unwrap();
        assert!(
            message.contains(&own) && message.contains(&other),
            "{message}"
        );
    }
    assert_eq!(desk.status(&other), "running");
    let taken = desk.store().reclaim(
        &TaskId::new(&*own),
        Some("elsewhere:1"),
        None,
        Termination::default(),
    );
    assert_eq!(taken.unwrap(), Applied::Yes);
    let current = desk.claimed(&own);
    let refused = desk.worker(&own, stale, "kanban_complete", json!({"summary": "x"}));
    let result = refused.exits(1).json();
    assert_eq!(result["attempt_over"], true);
    let over = format!("attempt {stale} is over, attempt {current} is in progress");
    assert!(
        result["error"].as_str().unwrap().contains(&over),
        "{result}"
    );
    assert_eq!(desk.status(&own), "running");
}

// check 35
#[test]
fn unknown_created_cards_refuse_a_completion() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let run = desk.claimed(&id);
    let args = json!({"summary": "x", "created_cards": ["t_deadbeef"]});
    let refused = desk.worker(&id, run, "kanban_complete", args);
    assert_eq!(
        refused.exits(1).json()["phantom_cards"],
        json!(["t_deadbeef"])
    );
    assert_eq!(desk.status(&id), "running");
    let args = json!({"summary": "x", "created_cards": []});
    desk.worker(&id, run, "kanban_complete", args).succeeds();
}

#[test]
fn checks_are_run_by_the_runtime() {
    let desk = Desk::new();
    let id = desk.create("x", &["--check", "echo looked; test -e nothing-there"]);
    let run = desk.claimed(&id);
    let refused = desk.worker(&id, run, "kanban_complete", json!({"summary": "all fine"}));
    let result = refused.exits(1).json();
    assert_eq!(result["check"]["exit_code"], 1);
    assert_eq!(result["check"]["output"], "looked\n");
    assert_eq!(desk.status(&id), "ready");
    let id = desk.create("y", &["--check", "true"]);
    let run = desk.claimed(&id);
    let done = desk.worker(&id, run, "kanban_complete", json!({"summary": "fine"}));
    assert_eq!(done.succeeds().json()["checks_passed"], 1);
    assert_eq!(desk.status(&id), "done");
}

#[test]
fn secrets_of_the_profile_never_reach_the_board() {
    const CANARY: &str = "sk-canary-0123456789abcdef0123456789";
    let desk = Desk::new();
    desk.home
        .put(".env", format!("OPENROUTER_API_KEY={CANARY}\n"));
    let id = desk.create("x", &[]);
    let run = desk.claimed(&id);
    let words = format!("it is {CANARY}");
    for (tool, args) in [
        ("kanban_comment", json!({"task_id": id, "body": words})),
        ("kanban_heartbeat", json!({"note": words})),
        (
            "kanban_complete",
            json!({"summary": words, "result": words, "metadata": {CANARY: [words]}}),
        ),
    ] {
        desk.worker(&id, run, tool, args)
            .succeeds()
            .never_shows(CANARY);
    }
    assert_eq!(desk.status(&id), "done");
    let database = desk.home.path("kanban.db");
    for suffix in ["", "-wal"] {
        let path = format!("{}{suffix}", database.display());
        let bytes = std::fs::read(path).unwrap_or_default();
        let found = bytes
            .windows(CANARY.len())
            .any(|part| part == CANARY.as_bytes());
        assert!(!found, "the secret is in kanban.db{suffix}");
    }
}

#[test]
fn another_board_is_refused_in_a_worker() {
    let desk = Desk::new();
    desk.home
        .run(["kanban", "boards", "create", "side"])
        .succeeds();
    let id = desk.create("x", &[]);
    let run = desk.claimed(&id);
    let args = json!({"title": "y", "assignee": "a", "board": "side"});
    let refused = desk.worker(&id, run, "kanban_create", args);
    let message = refused.exits(1).json()["error"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.contains("side") && message.contains("default"),
        "{message}"
    );
    // Outside of a worker it is just another board.
    let args = json!({"title": "y", "assignee": "a", "board": "side"});
    let made = desk.call("kanban_create", &args).run().succeeds().json();
    let listed = desk.kanban(&["--board", "side", "list"]);
    assert_eq!(listed[0]["id"], made["task_id"]);
}

#[test]
fn invalid_calls_give_one_error_and_change_nothing() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let run = desk.claimed(&id);
    for (tool, args) in [
        ("kanban_complete", json!({})),
        ("kanban_complete", json!({"summary": 5})),
        (
            "kanban_complete",
            json!({"summary": "x", "metadata": "not an object"}),
        ),
        ("kanban_block", json!({})),
        ("kanban_block", json!({"reason": "x", "kind": "mood"})),
        ("kanban_comment", json!({"task_id": "t_none", "body": "x"})),
        ("kanban_show", json!({"task_id": "../../etc/passwd"})),
        (
            "kanban_attach",
            json!({"filename": "a", "content_base64": "?"}),
        ),
        ("kanban_list", json!({})),
        ("kanban_nonsense", json!({})),
    ] {
        let refused = desk.worker(&id, run, tool, args);
        assert!(refused.exits(1).json()["error"].is_string(), "{tool}");
    }
    assert_eq!(desk.status(&id), "running");
    let card = desk.kanban(&["show", &id]);
    assert_eq!(card["comments"], json!([]));
}
