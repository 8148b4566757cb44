//! Several cards at once, signs of life, counting, collecting garbage.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, assert_refuses};

#[test]
fn completing_several_cards_continues_after_a_failure() {
    let desk = Desk::new();
    let (a, b) = (desk.create("a", &[]), desk.create("b", &[]));
    let outcome = desk.kanban(&["complete", &a, "t_none", &b, "--result", "fine"]);
    outcome
        .exits(1)
        .prints(&format!("Completed {a}\nCompleted {b}\n"))
        .says_part("kanban: no such card: 't_none'");
    for id in [&a, &b] {
        let card = desk.json(&["show", id]);
        assert_eq!(card["task"]["status"], "done");
        assert_eq!(card["task"]["result"], "fine");
        assert_eq!(card["latest_summary"], "fine");
    }
    let again = desk.kanban(&["complete", &a]);
    assert_refuses(&again, 1, &format!("cannot complete {a}: it is done"));
}

#[test]
fn summary_and_metadata_are_recorded_in_the_attempt() {
    let desk = Desk::new();
    let id = desk.create("x", &["--assignee", "coder"]);
    desk.claimed(&id);
    desk.kanban(&[
        "complete",
        &id,
        "--summary",
        "did it\nand more",
        "--metadata",
        r#"{"tests": 3}"#,
    ])
    .succeeds();
    let runs = desk.json(&["runs", &id]);
    assert_eq!(runs[0]["outcome"], "completed");
    assert_eq!(runs[0]["summary"], "did it\nand more");
    assert_eq!(runs[0]["metadata"], json!({"tests": 3}));
    assert_eq!(runs[0]["profile"], "coder");
    desk.kanban(&["runs", &id])
        .succeeds()
        .prints_part(
            "#    OUTCOME       PROFILE            ELAPSED  STARTED\n  1  completed     coder     ",
        )
        .prints_part("\n     → did it\n");
    desk.kanban(&["show", &id])
        .succeeds()
        .prints_part("\nLatest summary:\ndid it\nand more\n")
        .prints_part("  #1   completed    @coder  0s  ");
}

#[test]
fn archived_cards_are_deleted_with_their_files() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let file = desk.home.put_outside("a.txt", "a", 0o600);
    desk.kanban(&["attach", &id, file.to_str().unwrap()])
        .succeeds();
    desk.home.put(&format!("kanban/logs/{id}.log"), "l");
    desk.kanban(&["archive", &id]).succeeds();
    desk.kanban(&["list"])
        .succeeds()
        .prints("(no matching tasks)\n");
    desk.kanban(&["list", "--archived"])
        .succeeds()
        .prints_part(&format!("— {id}  archived"));
    desk.kanban(&["archive", "--rm", &id])
        .succeeds()
        .prints(&format!("Deleted {id}\n"));
    assert_eq!(desk.json(&["list", "--archived"]), json!([]));
    assert!(!desk.home.has(&format!("kanban/attachments/{id}")));
    assert!(!desk.home.has(&format!("kanban/logs/{id}.log")));
    for table in [
        "task_events",
        "task_attachments",
        "task_runs",
        "task_comments",
    ] {
        let left = desk.count(&format!("SELECT count(*) FROM {table}"));
        assert_eq!(left, 0, "{table}");
    }
}

#[test]
fn only_a_running_card_records_a_heartbeat() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let refused = desk.kanban(&["heartbeat", &id]);
    refused.exits(1).prints("").says_part("kanban: cannot ");
    desk.claimed(&id);
    desk.kanban(&["heartbeat", &id, "--note", "half way"])
        .succeeds()
        .prints(&format!("Heartbeat recorded for {id}\n"));
    assert_eq!(
        desk.last_event(&id, "heartbeat"),
        json!({"note": "half way"})
    );
    assert!(desk.json(&["show", &id])["task"]["last_heartbeat_at"].is_i64());
}

#[test]
fn a_running_card_cannot_be_assigned() {
    let desk = Desk::new();
    let id = desk.create("x", &["--assignee", "coder"]);
    desk.kanban(&["assign", &id, " Other "])
        .succeeds()
        .prints(&format!("Assigned {id} to other\n"));
    for nobody in ["none", "-", "NULL"] {
        desk.kanban(&["assign", &id, nobody])
            .succeeds()
            .prints(&format!("Assigned {id} to (unassigned)\n"));
        assert_eq!(desk.json(&["show", &id])["task"]["assignee"], json!(null));
    }
    desk.claimed(&id);
    let refused = desk.kanban(&["assign", &id, "coder"]);
    let message = format!("cannot assign {id}: somebody is working on it (elsewhere:1)");
    assert_refuses(&refused, 1, &message);
    refused.says_part(&format!("hermes kanban reclaim {id}"));
}

#[test]
fn cards_are_counted() {
    let desk = Desk::new();
    desk.create("a", &["--assignee", "coder"]);
    desk.create("b", &["--assignee", "coder", "--triage"]);
    let c = desk.create("c", &[]);
    desk.kanban(&["complete", &c]).succeeds();
    let mut stats = desk.json(&["stats"]);
    assert!(stats["now"].is_i64() && stats["oldest_ready_age_seconds"].is_i64());
    stats["now"] = json!(0);
    stats["oldest_ready_age_seconds"] = json!(0);
    assert_eq!(
        stats,
        json!({
            "by_status": {"done": 1, "ready": 1, "triage": 1},
            "by_assignee": {"coder": {"ready": 1, "triage": 1}},
            "oldest_ready_age_seconds": 0, "now": 0,
        })
    );
    desk.kanban(&["stats"])
        .succeeds()
        .prints_part("By status:\n  triage     1\n  todo       0\n")
        .prints_part("\nBy assignee:\n  coder                 ready=1, triage=1\n")
        .prints_part("\nOldest ready task age: ");
    desk.home.run(["profile", "create", "idle"]).succeeds();
    assert_eq!(
        desk.json(&["assignees"]),
        json!([
            {"name": "coder", "on_disk": false, "counts": {"ready": 1, "triage": 1}},
            {"name": "default", "on_disk": true, "counts": {}},
            {"name": "idle", "on_disk": true, "counts": {}},
        ])
    );
    desk.kanban(&["assignees"]).succeeds().prints(
        "NAME                  ON DISK   COUNTS\n\
         coder                 no        ready=1, triage=1\n\
         default               yes       (idle)\n\
         idle                  yes       (idle)\n",
    );
}

#[test]
fn garbage_is_collected() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let workspace = desk.home.path(&format!("kanban/workspaces/{id}"));
    fs::create_dir_all(&workspace).unwrap();
    fs::write(workspace.join("file"), "f").unwrap();
    desk.database()
        .execute(
            "UPDATE tasks SET workspace_path = ?1 WHERE id = ?2",
            [workspace.to_str().unwrap(), &id],
        )
        .unwrap();
    desk.kanban(&["archive", &id]).succeeds();
    desk.home.put(&format!("kanban/logs/{id}.log"), "l");
    desk.kanban(&["gc", "--log-retention-days", "0"])
        .succeeds()
        .prints("GC complete: 1 workspace(s), 0 event row(s), 1 log file(s) removed\n");
    assert!(!workspace.exists());
    desk.kanban(&["gc", "--event-retention-days", "x"]).exits(2);
    desk.kanban(&["boards", "create", "old"]).succeeds();
    desk.kanban(&["boards", "rm", "old"]).succeeds();
    desk.kanban(&["gc"])
        .succeeds()
        .prints_part("0 workspace(s)");
    desk.kanban(&["gc", "--archive-retention-days", "0"])
        .succeeds()
        .prints_part("1 archived board(s)");
}
