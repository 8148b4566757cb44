//! Filing cards.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, text};

#[test]
fn create_stores_every_flag() {
    let desk = Desk::new();
    desk.home.run(["profile", "create", "coder"]).succeeds();
    let parent = desk.create("parent", &[]);
    let id = desk.create(
        "  Build it  ",
        &[
            "--body",
            "how",
            "--assignee",
            "Coder",
            "--parent",
            &parent,
            "--workspace",
            "worktree:/srv/repo",
            "--branch",
            "wt/x",
            "--tenant",
            "acme",
            "--priority",
            "-5",
            "--idempotency-key",
            "K",
            "--max-runtime",
            "1.5h",
            "--created-by",
            "boss",
            "--skill",
            "review",
            "--skill",
            "review",
            "--max-retries",
            "3",
            "--goal",
            "--goal-max-turns",
            "7",
        ],
    );
    let mut task = desk.json(&["show", &id])["task"].clone();
    assert!(task["created_at"].is_i64());
    task["created_at"] = json!(0);
    assert_eq!(
        task,
        json!({
            "id": id, "title": "Build it", "body": "how", "assignee": "coder", "status": "todo",
            "priority": -5, "tenant": "acme", "workspace_kind": "worktree",
            "workspace_path": "/srv/repo", "branch_name": "wt/x", "project_id": null,
            "created_by": "boss", "created_at": 0, "started_at": null, "completed_at": null,
            "result": null, "skills": ["review"], "max_retries": 3, "session_id": null,
            "workflow_template_id": null, "current_step_key": null, "claim_lock": null,
            "claim_expires": null, "worker_pid": null, "current_run_id": null,
            "consecutive_failures": 0, "last_failure_error": null, "max_runtime_seconds": 5400,
            "model_override": null, "goal_mode": true, "goal_max_turns": 7, "block_kind": null,
            "block_recurrences": 0, "idempotency_key": "K", "last_heartbeat_at": null,
            "scheduled_at": null, "parents": [parent], "children": [],
        })
    );
    desk.kanban(&["show", &id])
        .succeeds()
        .prints_part(&format!(
            "Task {id}: Build it\n  status:      todo\n  assignee:    coder\n"
        ))
        .prints_part("  workspace:   worktree @ /srv/repo\n  branch:      wt/x\n")
        .prints_part("  max-retries: 3 (task)\n")
        .prints_part(" by boss\n")
        .prints_part(&format!("  parents:     {parent}\n"))
        .prints_part("\nBody:\nhow\n");
    let again = desk.create("something else", &["--idempotency-key", "K"]);
    assert_eq!(again, id);
}

#[test]
fn create_warns_when_no_dispatcher_runs() {
    let desk = Desk::new();
    desk.home.run(["profile", "create", "coder"]).succeeds();
    let script = desk
        .home
        .put_outside("script.yaml", "turns: [{text: x}]\n", 0o600);
    desk.home.put(
        "profiles/coder/config.yaml",
        format!(
            "model: {{provider: replay, script: '{}'}}\n",
            script.display()
        ),
    );
    let unassigned = desk.kanban(&["create", "x"]);
    unassigned.succeeds().says("");
    let id = text(&desk.json(&["list"])[0]["id"]);
    unassigned.prints(&format!("Created {id}  (ready, assignee=-)\n"));
    desk.kanban(&["create", "y", "--assignee", "coder"])
        .succeeds()
        .says(
            "warning: no dispatcher is running, so no worker is started for this card yet\n\
             hint: `hermes gateway start` dispatches continuously, `hermes kanban dispatch` once\n",
        );
    desk.kanban(&["create", "y", "--assignee", "orion-cc"])
        .succeeds()
        .says_part("hint: there is no profile 'orion-cc'");
    desk.kanban(&["create", "y", "--assignee", "coder", "--triage"])
        .succeeds()
        .prints_part("  (triage, assignee=coder)\n")
        .says("");
    desk.kanban(&["create", "y", "--assignee", "coder", "--json"])
        .succeeds()
        .says("");
}

#[test]
fn the_source_of_the_limit_is_named() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let shows = |words: &str| {
        desk.kanban(&["show", &id]).succeeds().prints_part(words);
    };
    shows("  max-retries: 2 (default)\n");
    desk.home
        .run(["config", "set", "kanban.failure_limit", "5"])
        .succeeds();
    shows("  max-retries: 5 (config kanban.failure_limit)\n");
    desk.home
        .put("config.yaml", "kanban:\n  failure_limit: 0\n");
    shows("  max-retries: 2 (default)\n");
}

#[test]
fn a_project_brings_its_repository() {
    let desk = Desk::new();
    fs::create_dir_all(desk.home.root()).unwrap();
    let projects = hermes_store::rusqlite::Connection::open(desk.home.path("projects.db")).unwrap();
    projects
        .execute_batch(
            "CREATE TABLE projects (id TEXT PRIMARY KEY, slug TEXT NOT NULL UNIQUE,
                 name TEXT NOT NULL, primary_path TEXT, created_at INTEGER NOT NULL);
             INSERT INTO projects VALUES ('p_1', 'site', 'Site', '/srv/site', 1)",
        )
        .unwrap();
    let card = desk.json(&["create", "Fix the Menu!", "--project", "Site"]);
    let id = text(&card["id"]);
    assert_eq!(card["project_id"], "p_1");
    assert_eq!(card["workspace_kind"], "worktree");
    assert_eq!(card["workspace_path"], format!("/srv/site/.worktrees/{id}"));
    assert_eq!(card["branch_name"], format!("site/{id}-fix-the-menu"));
    let unknown = desk.json(&["create", "x", "--project", "nope"]);
    assert_eq!(unknown["project_id"], json!(null));
    assert_eq!(unknown["workspace_kind"], "scratch");
}

#[test]
fn a_swarm_is_created_once_per_key() {
    let desk = Desk::new();
    desk.home.run(["profile", "create", "critic"]).succeeds();
    desk.home.put(
        "profiles/critic/skills/dev/requesting-code-review/SKILL.md",
        "---\nname: requesting-code-review\n---\n",
    );
    let args = [
        "swarm",
        "find the leak",
        "--worker",
        "alpha:look at the pipes:plumbing,diving",
        "--worker",
        "beta:look at the roof",
        "--verifier",
        "critic",
        "--synthesizer",
        "writer",
        "--idempotency-key",
        "leak",
        "--tenant",
        "house",
        "--priority",
        "3",
    ];
    let swarm = desk.json(&args);
    assert_eq!(desk.json(&args), swarm);
    let card = |value: &serde_json::Value| desk.json(&["show", &text(value)])["task"].clone();
    let root = card(&swarm["root_id"]);
    assert_eq!(
        (&root["status"], &root["assignee"]),
        (&json!("done"), &json!("default"))
    );
    let workers: Vec<_> = swarm["worker_ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(card)
        .collect();
    assert_eq!(workers.len(), 2);
    assert!(
        workers
            .iter()
            .all(|worker| worker["status"] == "ready" && worker["tenant"] == "house")
    );
    assert_eq!(workers[0]["skills"], json!(["plumbing", "diving"]));
    let verifier = card(&swarm["verifier_id"]);
    assert_eq!(verifier["status"], "todo");
    assert_eq!(verifier["skills"], json!(["requesting-code-review"]));
    assert_eq!(verifier["parents"].as_array().unwrap().len(), 2);
    let synthesizer = card(&swarm["synthesizer_id"]);
    assert_eq!(synthesizer["skills"], json!([]), "writer has no such skill");
    assert_eq!(synthesizer["parents"], json!([swarm["verifier_id"]]));
    assert_eq!(desk.count("SELECT count(*) FROM tasks"), 5);
    desk.kanban(&args).succeeds().prints_part(&format!(
        "Swarm root: {}\nWorkers: ",
        text(&swarm["root_id"])
    ));
}
