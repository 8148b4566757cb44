//! The shapes that programs rely on: names and order of keys.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::Desk;

fn keys(value: &Value) -> Vec<&str> {
    let keys = value.as_object().unwrap().keys();
    keys.map(String::as_str).collect()
}

#[test]
fn a_card_is_the_same_object_everywhere() {
    let desk = Desk::new();
    let created = desk.json(&["create", "x"]);
    let listed = desk.json(&["list"]);
    let shown = desk.json(&["show", created["id"].as_str().unwrap()]);
    assert_eq!(created, listed[0]);
    assert_eq!(created, shown["task"]);
    let reference = [
        "id",
        "title",
        "body",
        "assignee",
        "status",
        "priority",
        "tenant",
        "workspace_kind",
        "workspace_path",
        "branch_name",
        "project_id",
        "created_by",
        "created_at",
        "started_at",
        "completed_at",
        "result",
        "skills",
        "max_retries",
        "session_id",
        "workflow_template_id",
        "current_step_key",
    ];
    let keys = keys(&created);
    assert_eq!(keys[..reference.len()], reference);
    for added in [
        "claim_lock",
        "claim_expires",
        "worker_pid",
        "current_run_id",
        "consecutive_failures",
        "last_failure_error",
        "max_runtime_seconds",
        "model_override",
        "goal_mode",
        "goal_max_turns",
        "block_kind",
        "block_recurrences",
        "idempotency_key",
        "last_heartbeat_at",
        "parents",
        "children",
    ] {
        assert!(keys.contains(&added), "{added}: {keys:?}");
    }
}

#[test]
fn the_parts_of_a_card_have_their_json_keys() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    desk.kanban(&["comment", &id, "c"]).succeeds();
    desk.claimed(&id);
    desk.kanban(&["complete", &id, "--summary", "s"]).succeeds();
    let card = desk.json(&["show", &id]);
    let wanted = [
        "task",
        "latest_summary",
        "parents",
        "children",
        "comments",
        "events",
        "runs",
    ];
    assert_eq!(keys(&card)[..wanted.len()], wanted);
    for (list, wanted) in [
        ("comments", &["author", "body", "created_at"][..]),
        ("events", &["kind", "payload", "created_at", "run_id"]),
        (
            "runs",
            &[
                "id",
                "profile",
                "step_key",
                "status",
                "outcome",
                "summary",
                "error",
                "metadata",
                "worker_pid",
                "started_at",
                "ended_at",
            ],
        ),
    ] {
        let keys = keys(&card[list][0]);
        for key in wanted {
            assert!(keys.contains(key), "{key} in {list}: {keys:?}");
        }
    }
    assert_eq!(desk.json(&["runs", &id])[0], card["runs"][0]);
}

#[test]
fn json_is_indented_by_two_and_not_escaped() {
    let desk = Desk::new();
    desk.create("schön 日本", &[]);
    let outcome = desk.kanban(&["list", "--json"]);
    outcome.succeeds().prints_part("[\n  {\n    \"id\": \"t_");
    outcome.prints_part("    \"title\": \"schön 日本\",\n");
    assert!(outcome.stdout.ends_with("\n  }\n]\n"), "{outcome}");
}
