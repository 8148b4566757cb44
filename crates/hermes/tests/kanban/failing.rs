//! Workers that end badly, or do not end, and what becomes of their cards.

use std::fs;
use std::time::Instant;

use hermes_fs::FileLock;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::crew::{Crew, cards, lives, until};

// check 24
#[test]
fn crashes_count_up_to_the_limit() {
    let crew = Crew::configured(&["failure_limit: 3"]);
    let id = crew.file("exit 3", &[]);
    let hasty = crew.file("exit 3", &["--max-retries", "1"]);
    let _daemon = crew.daemon(&[]);
    crew.wait_for_status(&id, "blocked");
    crew.wait_for_status(&hasty, "blocked");
    assert_eq!(crew.outcomes(&id), ["crashed", "crashed", "crashed"]);
    assert_eq!(crew.outcomes(&hasty), ["crashed"]);
    let crashed = crew.desk.last_event(&id, "crashed");
    assert_eq!(
        (&crashed["exit_kind"], &crashed["exit_code"]),
        (&json!("nonzero_exit"), &json!(3))
    );
    let gave_up = crew.desk.last_event(&id, "gave_up");
    assert_eq!(
        (
            &gave_up["failures"],
            &gave_up["effective_limit"],
            &gave_up["limit_source"]
        ),
        (&json!(3), &json!(3), &json!("dispatcher"))
    );
    assert_eq!(
        crew.desk.last_event(&hasty, "gave_up")["limit_source"],
        "task"
    );
    // A block of the breaker's is not undone by looking again.
    for _ in 0..3 {
        assert_eq!(crew.dispatch(&[])["promoted"], 0);
    }
    assert_eq!(crew.desk.status(&id), "blocked");
    crew.desk
        .kanban(&["why", &id])
        .succeeds()
        .prints_part("It is blocked after 3 failures in a row");
}

// check 25
#[test]
fn a_third_protocol_violation_blocks_the_card() {
    let crew = Crew::new();
    let id = crew.file("exit 0", &[]);
    let good = crew.file(
        "if test $(wc -l < \"$here/pids\") -ge 3; then \
         \"$HERMES_REAL\" kanban complete $HERMES_KANBAN_TASK --summary good; fi",
        &[],
    );
    let _daemon = crew.daemon(&[]);
    crew.wait_for_status(&id, "blocked");
    assert_eq!(crew.outcomes(&id).len(), 3);
    let events = crew.desk.events(&id);
    let violations = events.iter().filter(|kind| *kind == "protocol_violation");
    assert_eq!(violations.count(), 3, "{events:?}");
    assert!(events.contains(&"gave_up".to_owned()));
    crew.wait_for_status(&good, "done");
    let card = crew.desk.json(&["show", &good]);
    assert_eq!(card["task"]["consecutive_failures"], 0);
    assert_eq!(card["runs"].as_array().unwrap().len(), 3);
    assert_eq!(card["latest_summary"], "good");
}

// check 26
#[test]
fn worker_exit_75_is_not_a_failure() {
    let crew = Crew::new();
    let id = crew.file("exit 75", &[]);
    let mut daemon = crew.daemon(&[]);
    until("the quota wall", || {
        let events = crew.desk.events(&id);
        events.contains(&"respawn_guarded".to_owned()).then_some(())
    });
    daemon.kill();
    let card = crew.desk.json(&["show", &id]);
    assert_eq!(card["task"]["status"], "ready");
    assert_eq!(card["task"]["consecutive_failures"], 0);
    assert_eq!(crew.outcomes(&id), ["rate_limited"]);
    for _ in 0..2 {
        let report = crew.dispatch(&[]);
        assert_eq!(report["respawn_guarded"][0]["task_id"], json!(id));
        assert_eq!(
            report["respawn_guarded"][0]["reason"],
            "rate_limit_cooldown"
        );
    }
    let events = crew.desk.events(&id);
    let guarded = events.iter().filter(|kind| *kind == "respawn_guarded");
    assert_eq!(guarded.count(), 1, "{events:?}");
    crew.kanban(&["dispatch"])
        .succeeds()
        .prints_part("Held back (its worker reached a quota, until ");
    crew.age_ended_runs(400);
    assert_eq!(
        cards(&crew.dispatch(&["--dry-run"])["spawned"]),
        [id.as_str()]
    );
}

// check 27
#[test]
fn a_worker_that_cannot_start_is_retried_until_the_limit() {
    let crew = Crew::configured(&["failure_limit: 2"]);
    let id = crew.desk.create("x", &["--assignee", "alpha"]);
    let forbidden = crew
        .desk
        .home
        .put_outside("forbidden", "#!/bin/sh\n", 0o644);
    let dispatch = || {
        let call = crew
            .call(&["dispatch", "--json"])
            .env("HERMES_BIN", &forbidden);
        call.run().succeeds().json()
    };
    let first = dispatch();
    assert_eq!(cards(&first["spawn_failed"]), [id.as_str()]);
    let error = first["spawn_failed"][0]["error"].to_string();
    assert!(error.contains("ermission denied"), "{error}");
    assert_eq!(crew.desk.status(&id), "ready");
    assert_eq!(dispatch()["respawn_guarded"][0]["reason"], "blocker_auth");
    crew.age_ended_runs(4000);
    let last = dispatch();
    assert_eq!(cards(&last["spawn_failed"]), [id.as_str()]);
    assert_eq!(last["auto_blocked"], json!([id]));
    assert_eq!(crew.desk.status(&id), "blocked");
    assert_eq!(dispatch()["promoted"], 0);
}

// checks 28 and 32
#[test]
fn a_worker_over_its_time_limit_is_terminated_with_its_children() {
    let crew = Crew::new();
    let id = crew.file(
        "trap '' TERM; sleep 300 & echo $! > \"$here/child\"; while :; do sleep 1; done",
        &["--max-runtime", "1s"],
    );
    assert_eq!(cards(&crew.dispatch(&[])["spawned"]), [id.as_str()]);
    let child = crew.note(&id, "child");
    until("the end of its time", || {
        (crew.dispatch(&["--dry-run"])["timed_out"] == json!([id])).then_some(())
    });
    assert!(lives(&child), "a dry run ends nobody");
    // No room for a new worker, so that what becomes of the card can be seen.
    let other = crew.desk.create("other", &["--assignee", "beta"]);
    crew.desk.claimed(&other);
    let lock = crew.desk.home.path("kanban.db.dispatch.lock");
    let begin = Instant::now();
    let report = std::thread::scope(|scope| {
        let one = scope.spawn(|| crew.dispatch(&["--max", "1"]));
        until("the lock", || {
            FileLock::is_held(&lock).unwrap().then_some(())
        });
        // While one dispatcher waits for the worker to end, another finds the board taken.
        let another = crew.dispatch(&[]);
        assert_eq!(another["skipped_locked"], true);
        assert_eq!(another["spawned"], json!([]));
        crew.kanban(&["dispatch"])
            .succeeds()
            .prints("Another dispatcher is active on this board; nothing was done.\n");
        one.join().unwrap()
    });
    assert_eq!(report["timed_out"], json!([id]));
    assert!(begin.elapsed().as_secs() < 30, "{:?}", begin.elapsed());
    assert!(!lives(&child) && !crew.has_workers(&id));
    assert_eq!(crew.desk.status(&id), "ready");
    assert_eq!(crew.outcomes(&id), ["timed_out"]);
    assert_eq!(crew.desk.last_event(&id, "timed_out")["sigkill"], true);
    let card = crew.desk.json(&["show", &id]);
    assert_eq!(card["task"]["consecutive_failures"], 1);
}

// check 30
#[test]
fn a_claim_lasts_while_heartbeats_come() {
    let crew = Crew::new();
    let id = crew.file("sleep 300", &[]);
    crew.dispatch(&[]);
    crew.note(&id, "pids");
    let expire = |heartbeat: &str| {
        let sql = format!(
            "UPDATE tasks SET claim_expires = strftime('%s') - 5, last_heartbeat_at = {heartbeat};
             UPDATE task_runs SET claim_expires = strftime('%s') - 5,
                 last_heartbeat_at = {heartbeat} WHERE ended_at IS NULL;"
        );
        crew.desk.database().execute_batch(&sql).unwrap();
    };
    expire("strftime('%s') - 60");
    let report = crew.dispatch(&[]);
    assert_eq!(report["extended"], json!([id]));
    assert_eq!(crew.desk.status(&id), "running");
    assert_eq!(
        crew.desk.last_event(&id, "claim_extended")["reason"],
        "pid_alive"
    );
    expire("strftime('%s') - 7200");
    // Without room for a new worker, so that what becomes of the card can be seen.
    let other = crew.desk.create("other", &["--assignee", "beta"]);
    crew.desk.claimed(&other);
    let report = crew.dispatch(&["--max", "1"]);
    assert_eq!(report["reclaimed"], 1);
    crew.wait_for_end(&id);
    assert_eq!(crew.desk.status(&id), "ready");
    let reclaimed = crew.desk.last_event(&id, "reclaimed");
    assert_eq!(
        (&reclaimed["heartbeat_stale"], &reclaimed["terminated"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(crew.outcomes(&id), ["reclaimed"]);
}

// check 31, with a worker that leaves a record of its end as ours do
#[test]
fn the_exit_of_a_worker_outlives_its_dispatcher() {
    let crew = Crew::new();
    let script = |code: i32| {
        let record = format!("{{\"run_id\":%s,\"code\":{code},\"ended_at\":1}}");
        let logs = crew.desk.home.path("kanban/logs");
        format!(
            "while ! test -e \"$CREW_DIR/go\"; do sleep 0.05; done\n\
             printf '{record}' $HERMES_KANBAN_RUN_ID > {}/$HERMES_KANBAN_TASK.exit\nexit {code}\n",
            logs.display()
        )
    };
    let wall = crew.file(&script(75), &[]);
    let silent = crew.file(&script(0), &[]);
    let mut daemon = crew.daemon(&[]);
    for id in [&wall, &silent] {
        crew.note(id, "pids");
        until("the record of its start", || {
            let events = crew.desk.events(id);
            events.contains(&"spawned".to_owned()).then_some(())
        });
    }
    daemon.kill();
    fs::write(crew.desk.home.outside("crew").join("go"), "").unwrap();
    crew.wait_for_end(&wall);
    crew.wait_for_end(&silent);
    let report = crew.dispatch(&["--max", "1"]);
    assert_eq!(report["rate_limited"], json!([wall]));
    assert_eq!(report["crashed"], json!([silent]));
    let events = crew.desk.events(&silent);
    assert!(
        events.contains(&"protocol_violation".to_owned()),
        "{events:?}"
    );
}

#[test]
fn a_worker_with_unknown_exit_has_crashed() {
    let crew = Crew::new();
    let id = crew.file("exit 0", &[]);
    crew.dispatch(&[]);
    crew.wait_for_end(&id);
    let report = crew.dispatch(&[]);
    assert_eq!(report["crashed"], json!([id]));
    assert!(crew.desk.events(&id).contains(&"crashed".to_owned()));
}
