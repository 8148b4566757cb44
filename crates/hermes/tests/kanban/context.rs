//! What a worker is told, and cards in distress.

use hermes_board::model::TaskId;
use hermes_board::store::{BoardStore, Completion};
use pretty_assertions::assert_eq;

use crate::{Desk, assert_sound};

// check 37
#[test]
fn the_worker_context_is_bounded() {
    let desk = Desk::new();
    let id = desk.create(
        "much",
        &["--body", &"b".repeat(20_000), "--assignee", "coder"],
    );
    let mut store = desk.store();
    let card = TaskId::new(&*id);
    for number in 0..40 {
        store
            .add_comment(&card, "me", &format!("comment {number}."))
            .unwrap();
    }
    drop(store);
    for _ in 0..15 {
        desk.claimed(&id);
        let mut store = desk.store();
        let lock = Some("elsewhere:1");
        let taken = store.reclaim(
            &card,
            lock,
            None,
            hermes_board::model::Termination::default(),
        );
        assert_eq!(taken.unwrap(), hermes_board::store::Applied::Yes);
    }
    let outcome = desk.kanban(&["context", &id]);
    let text = &outcome.succeeds().stdout;
    assert!(
        text.starts_with(&format!("# Kanban task {id}: much\n\nAssignee: coder\n")),
        "{text}"
    );
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
    assert!(text.contains(&"b".repeat(8192)) && !text.contains(&"b".repeat(8193)));
    assert!(
        text.contains("… [truncated, 11808 chars omitted]"),
        "{text}"
    );
    assert_eq!(text.matches("\ncomment from worker `me` at ").count(), 30);
    assert!(text.contains("comment 10.\n") && !text.contains("comment 9.\n"));
    assert_eq!(text.matches("\n### Attempt ").count(), 10);
    assert!(text.contains("### Attempt 15 — reclaimed") && !text.contains("### Attempt 5 "));
    assert!(text.contains("(10 earlier comments omitted; showing most recent 30)"));
    assert!(text.contains("(5 earlier attempts omitted; showing most recent 10)"));
}

#[test]
fn the_worker_context_has_the_results_of_parents() {
    let desk = Desk::new();
    let parent = desk.create("parent", &[]);
    let child = desk.create("child", &["--parent", &parent, "--check", "cargo test"]);
    desk.kanban(&[
        "complete",
        &parent,
        "--summary",
        "the door is open",
        "--metadata",
        r#"{"b":1,"a":2}"#,
    ])
    .succeeds();
    let outcome = desk.kanban(&["context", &child]);
    outcome
        .succeeds()
        .prints_part("## Parent task results\n")
        .prints_part(&parent)
        .prints_part("the door is open")
        .prints_part(r#"{"a":2,"b":1}"#)
        .prints_part("cargo test");
}

#[test]
fn diagnostics_appear_and_disappear() {
    let desk = Desk::new();
    let id = desk.create("x", &["--assignee", "coder"]);
    desk.kanban(&["diagnostics"])
        .succeeds()
        .prints("No active diagnostics on this board.\n");
    desk.claimed(&id);
    let mut store = desk.store();
    let lie = Completion {
        created_cards: vec![TaskId::new("t_deadbeef")],
        ..Completion::default()
    };
    assert!(store.complete(&TaskId::new(&*id), &lie).is_err());
    drop(store);
    let found = desk.json(&["diagnostics"]);
    assert_eq!(found[0]["task_id"], id.as_str());
    assert_eq!(found[0]["status"], "running");
    assert_eq!(found[0]["diagnostics"][0]["kind"], "hallucinated_cards");
    assert_eq!(found[0]["diagnostics"][0]["severity"], "error");
    desk.kanban(&["diag"])
        .succeeds()
        .prints_part("1 active diagnostic(s) across 1 task(s):\n")
        .prints_part("    !! [error] hallucinated_cards: ");
    desk.kanban(&["show", &id])
        .succeeds()
        .prints_part("  Diagnostics (1):\n    !! [error] ");
    assert_eq!(
        desk.json(&["diagnostics", "--severity", "critical"]),
        serde_json::json!([])
    );
    desk.kanban(&["diagnostics", "--severity", "mild"]).exits(2);
    desk.kanban(&["complete", &id]).succeeds();
    assert_eq!(
        desk.json(&["diagnostics", "--task", &id]),
        serde_json::json!([])
    );
    assert_sound(&desk.database());
}

#[test]
fn thresholds_come_from_the_configuration() {
    let desk = Desk::new();
    let id = desk.create("x", &["--assignee", "coder"]);
    desk.database()
        .execute_batch(
            "UPDATE tasks SET created_at = created_at - 600;
             UPDATE task_events SET created_at = created_at - 600",
        )
        .unwrap();
    assert_eq!(desk.json(&["diagnostics"]), serde_json::json!([]));
    let key = "kanban.diagnostics.stranded_threshold_seconds";
    desk.home.run(["config", "set", key, "300"]).succeeds();
    let found = desk.json(&["diagnostics"]);
    assert_eq!(found[0]["task_id"], id.as_str());
    assert_eq!(found[0]["diagnostics"][0]["kind"], "stranded_in_ready");
}
