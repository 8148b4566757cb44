//! Cards taken by hand, and taken back.

use std::fs;
use std::thread;

use hermes_testkit::git;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::crew::{Crew, cards};
use crate::{Desk, assert_refuses, assert_sound};

// check 8
#[test]
fn a_card_is_claimed_once_however_many_try() {
    const PROCESSES: usize = 8;
    const CARDS: usize = 100;
    let desk = Desk::new();
    let ids: Vec<String> = (0..CARDS)
        .map(|number| desk.create(&format!("card {number}"), &[]))
        .collect();
    let claims: usize = thread::scope(|scope| {
        let claimers: Vec<_> = (0..PROCESSES)
            .map(|_| {
                let (desk, ids) = (&desk, &ids);
                scope.spawn(move || {
                    let won = |id: &&String| {
                        let outcome = desk.kanban(&["claim", id]);
                        if outcome.code == Some(0) {
                            outcome.prints_part(&format!("Claimed {id}\nWorkspace: /"));
                            return true;
                        }
                        outcome
                            .exits(1)
                            .prints("")
                            .says_part(&format!("kanban: cannot claim {id}: status=running lock="));
                        false
                    };
                    ids.iter().filter(won).count()
                })
            })
            .collect();
        claimers.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(claims, CARDS);
    assert_eq!(
        desk.count("SELECT count(*) FROM task_runs WHERE ended_at IS NULL"),
        100
    );
    assert_eq!(
        desk.count("SELECT count(DISTINCT task_id) FROM task_runs"),
        100
    );
    assert_eq!(
        desk.count("SELECT count(*) FROM task_events WHERE kind = 'claimed'"),
        100
    );
    assert_sound(&desk.database());
}

// check 12
#[test]
fn a_card_whose_parent_is_open_is_not_claimed() {
    let desk = Desk::new();
    let parent = desk.create("parent", &[]);
    let child = desk.create("child", &["--parent", &parent]);
    assert_refuses(
        &desk.kanban(&["claim", &child]),
        1,
        &format!("cannot claim {child}: status=todo lock=(none)"),
    );
    // As if another program had made it ready too early.
    desk.database()
        .execute("UPDATE tasks SET status = 'ready' WHERE id = ?1", [&child])
        .unwrap();
    assert_refuses(
        &desk.kanban(&["claim", &child]),
        1,
        &format!("cannot claim {child}: it is waiting for open parents"),
    );
    assert_eq!(desk.status(&child), "todo");
    assert_eq!(
        desk.last_event(&child, "claim_rejected"),
        json!({"reason": "parents_not_done"})
    );
    assert_eq!(desk.count("SELECT count(*) FROM task_runs"), 0);
    desk.kanban(&["why", &child])
        .succeeds()
        .prints_part(&format!("It waits for {parent}."));
}

#[test]
fn a_claim_has_an_expiry_and_a_workspace() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let place = desk.home.path(&format!("kanban/workspaces/{id}"));
    desk.kanban(&["claim", &id, "--ttl", "60"])
        .succeeds()
        .says("")
        .prints(&format!("Claimed {id}\nWorkspace: {}\n", place.display()));
    assert!(place.is_dir());
    let card = desk.json(&["show", &id])["task"].clone();
    let lasts = card["claim_expires"].as_i64().unwrap() - card["started_at"].as_i64().unwrap();
    assert_eq!(lasts, 60);
    assert_eq!(card["workspace_path"], json!(place));
    desk.kanban(&["claim", &id, "--ttl", "0"]).exits(2);
    assert_refuses(
        &desk.kanban(&["claim", "t_none"]),
        1,
        "no such card: 't_none'",
    );
    let other = desk.create("y", &[]);
    desk.call(&["claim", &other])
        .env("HERMES_KANBAN_CLAIM_TTL_SECONDS", "7")
        .run()
        .succeeds();
    let card = desk.json(&["show", &other])["task"].clone();
    let lasts = card["claim_expires"].as_i64().unwrap() - card["started_at"].as_i64().unwrap();
    assert_eq!(lasts, 7);
}

// check 18
#[test]
fn a_worktree_is_made_before_its_worker_starts() {
    let crew = Crew::new();
    let repository = repository(&crew.desk);
    let workspace = format!("worktree:{}", repository.display());
    let id = crew.file("exit 0", &["--workspace", &workspace]);
    let tree = repository.join(".worktrees").join(&id);
    let report = crew.dispatch(&[]);
    assert_eq!(report["spawned"][0]["workspace"], json!(tree), "{report}");
    crew.wait_for_end(&id);
    let branch = format!("wt/{id}");
    let env = crew.note(&id, "env");
    let line = format!("HERMES_KANBAN_BRANCH={branch}");
    assert!(env.lines().any(|has| has == line), "{env}");
    assert_eq!(crew.note(&id, "cwd").trim(), tree.to_str().unwrap());
    assert_eq!(fs::read_to_string(tree.join("file")).unwrap(), "content\n");
    let head = git(&tree, &["branch", "--show-current"]);
    assert_eq!(head, branch);

    // By hand it is the same place; somewhere without a repository is nowhere.
    let other = crew.desk.create("y", &["--workspace", "worktree"]);
    let refused = crew.kanban(&["claim", &other]);
    refused
        .exits(1)
        .prints("")
        .says_part(&format!(
            "kanban: could not prepare a workspace for {other}: a worktree needs"
        ))
        .says_part("hint: the card is ready again");
    let card = crew.desk.json(&["show", &other])["task"].clone();
    assert_eq!(
        (
            &card["status"],
            &card["claim_lock"],
            &card["current_run_id"]
        ),
        (&json!("ready"), &json!(null), &json!(null))
    );
    crew.desk.kanban(&["assign", &other, "beta"]).succeeds();
    let report = crew.dispatch(&[]);
    assert_eq!(cards(&report["spawn_failed"]), [other.as_str()]);
    let card = crew.desk.json(&["show", &other]);
    assert_eq!(card["task"]["claim_lock"], json!(null));
    assert_eq!(card["task"]["consecutive_failures"], 1);
    assert_eq!(crew.outcomes(&other).last().unwrap(), "spawn_failed");
}

fn repository(desk: &Desk) -> std::path::PathBuf {
    let path = desk.home.user_home().join("repository");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("file"), "content\n").unwrap();
    git(&path, &["init", "--quiet"]);
    git(&path, &["add", "file"]);
    git(&path, &["commit", "--quiet", "-m", "first"]);
    path
}

#[test]
fn reclaiming_a_card_terminates_its_worker() {
    let crew = Crew::new();
    let id = crew.file("sleep 300 & sleep 300", &[]);
    crew.dispatch(&[]);
    crew.note(&id, "pids");
    let group = crew.groups(&id)[0];
    crew.kanban(&["reclaim", &id, "--reason", "wrong branch"])
        .succeeds()
        .says("")
        .prints(&format!("Reclaimed {id}\n"));
    assert!(!crew.has_workers(&id), "somebody lives");
    assert_eq!(crew.desk.status(&id), "ready");
    assert_eq!(crew.outcomes(&id), ["reclaimed"]);
    let event = crew.desk.last_event(&id, "reclaimed");
    assert_eq!(
        (&event["manual"], &event["reason"], &event["terminated"]),
        (&json!(true), &json!("wrong branch"), &json!(true))
    );
    assert_eq!(event["prev_pid"], group.as_raw_nonzero().get());
    assert_refuses(
        &crew.kanban(&["reclaim", &id]),
        1,
        &format!("cannot reclaim {id}: it is ready"),
    );
    assert_refuses(
        &crew.kanban(&["reclaim", "t_none"]),
        1,
        "no such card: 't_none'",
    );
}

#[test]
fn reassigning_a_running_card_needs_reclaim() {
    let crew = Crew::new();
    let id = crew.file("sleep 300", &[]);
    crew.dispatch(&[]);
    crew.note(&id, "pids");
    crew.kanban(&["reassign", &id, "beta"])
        .exits(1)
        .prints("")
        .says_part(&format!(
            "kanban: cannot assign {id}: somebody is working on it"
        ));
    assert_eq!(crew.desk.json(&["show", &id])["task"]["assignee"], "alpha");
    crew.kanban(&["reassign", &id, "beta", "--reclaim", "--reason", "busy"])
        .succeeds()
        .prints(&format!("Reassigned {id} to beta\n"));
    crew.wait_for_end(&id);
    let card = crew.desk.json(&["show", &id])["task"].clone();
    assert_eq!(
        (&card["assignee"], &card["status"]),
        (&json!("beta"), &json!("ready"))
    );
    crew.kanban(&["reassign", &id, "none", "--reclaim"])
        .succeeds()
        .prints(&format!("Reassigned {id} to (unassigned)\n"));
}

// check 34, for a worker at the command line
#[test]
fn a_reclaimed_worker_cannot_complete_its_card() {
    let crew = Crew::new();
    let id = crew.file(
        "\"$HERMES_REAL\" kanban heartbeat $HERMES_KANBAN_TASK && : > \"$here/beat\"\n\
         while ! test -e \"$CREW_DIR/go\"; do sleep 0.05; done\n\
         \"$HERMES_REAL\" kanban complete $HERMES_KANBAN_TASK; echo $? > \"$here/code\"",
        &[],
    );
    crew.dispatch(&[]);
    crew.note(&id, "pids");
    crate::crew::until("its sign of life", || {
        crew.desk
            .events(&id)
            .contains(&"heartbeat".to_owned())
            .then_some(())
    });
    // Behind its back, as a dispatcher on a machine that cannot reach it would.
    crew.desk
        .database()
        .execute_batch(
            "UPDATE tasks SET status = 'ready', claim_lock = NULL, claim_expires = NULL,
                 worker_pid = NULL, current_run_id = NULL;
             UPDATE task_runs SET ended_at = started_at, status = 'reclaimed',
                 outcome = 'reclaimed';",
        )
        .unwrap();
    fs::write(crew.desk.home.outside("crew").join("go"), "").unwrap();
    assert_eq!(crew.note(&id, "code").trim(), "1");
    assert_eq!(crew.desk.status(&id), "ready");
}
