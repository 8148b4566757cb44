//! The verbs inside a worker: it speaks for its own attempt, and only as long as that lasts.

use std::fs;

use hermes_board::model::{TaskId, Termination};
use hermes_board::store::{Applied, BoardStore};
use hermes_testkit::ProgramOutput;
use pretty_assertions::assert_eq;

use crate::{Desk, assert_refuses};

pub(crate) fn as_worker(desk: &Desk, id: &str, run: i64, args: &[&str]) -> ProgramOutput {
    desk.call(args)
        .env("HERMES_KANBAN_TASK", id)
        .env("HERMES_KANBAN_RUN_ID", run.to_string())
        .env("HERMES_PROFILE", "coder")
        .run()
}

#[test]
fn a_stale_worker_changes_nothing() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let stale = desk.claimed(&id);
    let taken = desk.store().reclaim(
        &TaskId::new(&*id),
        Some("elsewhere:1"),
        None,
        Termination::default(),
    );
    assert_eq!(taken.unwrap(), Applied::Yes);
    let current = desk.claimed(&id);
    for verb in [
        &["complete", &id][..],
        &["block", &id, "why"],
        &["schedule", &id, "later"],
        &["heartbeat", &id],
    ] {
        let refused = as_worker(&desk, &id, stale, verb);
        refused.exits(1).prints("").says_part(&format!(
            "attempt {stale} is over, attempt {current} is in progress"
        ));
    }
    let card = desk.json(&["show", &id]);
    assert_eq!(card["task"]["status"], "running");
    assert_eq!(
        card["comments"],
        serde_json::json!([]),
        "a stale worker has nothing to say"
    );
    as_worker(&desk, &id, current, &["heartbeat", &id]).succeeds();
    as_worker(&desk, &id, current, &["complete", &id, "--summary", "done"]).succeeds();
    assert_eq!(desk.status(&id), "done");
}

#[test]
fn a_worker_comments_as_its_profile() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let run = desk.claimed(&id);
    as_worker(&desk, &id, run, &["comment", &id, "hello"]).succeeds();
    assert_eq!(desk.json(&["show", &id])["comments"][0]["author"], "coder");
    let named = desk
        .call(&["comment", &id, "hello"])
        .env("HERMES_PROFILE", "coder")
        .env("HERMES_PROFILE_NAME", "boss")
        .run();
    named.succeeds();
    assert_eq!(desk.json(&["show", &id])["comments"][1]["author"], "boss");
}

// check 36
#[test]
fn deliverables_outlive_the_workspace() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let run = desk.claimed(&id);
    let workspace = desk.home.path(&format!("kanban/workspaces/{id}"));
    fs::create_dir_all(&workspace).unwrap();
    fs::write(workspace.join("report.md"), "the report").unwrap();
    desk.database()
        .execute(
            "UPDATE tasks SET workspace_path = ?1 WHERE id = ?2",
            [workspace.to_str().unwrap(), &id],
        )
        .unwrap();
    let missing = r#"{"artifacts": ["nothing.md"]}"#;
    as_worker(&desk, &id, run, &["complete", &id, "--metadata", missing])
        .exits(1)
        .says_part(&format!("kanban: {id} is not completed: the artifact "));
    assert_eq!(desk.status(&id), "running");
    assert!(workspace.join("report.md").exists());
    let found = r#"{"artifacts": ["report.md"]}"#;
    as_worker(&desk, &id, run, &["complete", &id, "--metadata", found]).succeeds();
    let kept = desk
        .home
        .path(&format!("kanban/attachments/{id}/report.md"));
    assert_eq!(fs::read_to_string(&kept).unwrap(), "the report");
    assert!(!workspace.exists());
    let metadata = &desk.json(&["runs", &id])[0]["metadata"];
    assert_eq!(metadata["artifacts"], serde_json::json!([kept]));
}

// check 36
#[test]
fn a_directory_that_is_not_ours_is_never_removed() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let project = desk.home.user_home().join("project");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("work"), "w").unwrap();
    desk.database()
        .execute(
            "UPDATE tasks SET workspace_path = ?1 WHERE id = ?2",
            [project.to_str().unwrap(), &id],
        )
        .unwrap();
    desk.kanban(&["complete", &id]).succeeds();
    assert_eq!(desk.status(&id), "done");
    assert!(project.join("work").exists());
    desk.kanban(&["archive", &id]).succeeds();
    desk.kanban(&["gc"]).succeeds();
    desk.kanban(&["archive", "--rm", &id]).succeeds();
    assert!(project.join("work").exists());
}

#[test]
fn completing_a_card_runs_its_checks() {
    let desk = Desk::new();
    let id = desk.create("x", &["--check", "false"]);
    let outcome = desk.kanban(&["complete", &id]);
    outcome.exits(1);
    assert_ne!(desk.status(&id), "done");
}

#[test]
fn a_malformed_run_id_counts_as_none() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let odd = desk
        .call(&["complete", &id])
        .env("HERMES_KANBAN_TASK", &id)
        .env("HERMES_KANBAN_RUN_ID", "seven")
        .run();
    odd.succeeds();
    let other = desk.create("y", &[]);
    let run = desk.claimed(&other);
    let foreign = as_worker(&desk, "t_own", run + 1000, &["complete", &other]);
    let message = format!("this worker belongs to card t_own and cannot complete card {other}");
    assert_refuses(&foreign, 1, &message);
    let stale = as_worker(&desk, &desk.create("z", &[]), 5, &["show", "t_none"]);
    assert_refuses(&stale, 1, "no such card: 't_none'");
}
