//! Workers that fail, and what is counted of it.

use hermes_board::model::{Outcome, Status, Termination, WorkerExit};
use hermes_board::store::{AttemptEnd, BoardStore, EndedRun, FailurePolicy, NewTask, Release};
use pretty_assertions::assert_eq;

use crate::dispatch::{LIMIT, exit, running, spawn};
use crate::{Fixture, START, card, claim, events, exited, file, kinds, status, task};

#[test]
fn crashes_are_counted_until_the_limit_and_the_block_holds() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    for failures in 1..3 {
        assert_eq!(
            exit(&mut board, &id, WorkerExit::Code(3), 3),
            Release::Requeued { failures }
        );
        assert_eq!(status(&board, &id), Status::Ready);
    }
    assert_eq!(
        exit(&mut board, &id, WorkerExit::Signal(9), 3),
        Release::Blocked {
            failures: 3,
            limit: 3
        }
    );
    let blocked = task(&board, &id);
    assert_eq!(blocked.status(), Status::Blocked);
    assert_eq!(
        blocked.last_failure_error.as_deref(),
        Some("pid 77 was killed by signal 9")
    );
    let all = events(&board, &id);
    assert_eq!(
        all[all.len() - 2],
        r#"crashed {"pid":77,"claimer":"host:1","exit_kind":"signaled","exit_code":9}"#
    );
    assert_eq!(
        all[all.len() - 1],
        r#"gave_up {"failures":3,"effective_limit":3,"limit_source":"dispatcher","error":"pid 77 was killed by signal 9","trigger_outcome":"crashed","pid":77,"claimer":"host:1"}"#
    );
    // Neither this tick nor a later one frees it, unless the limit is raised.
    assert_eq!(board.promote_satisfied(3).unwrap(), []);
    assert_eq!(board.promote_satisfied(2).unwrap(), []);
    assert_eq!(board.snapshot(3).unwrap().promotable, []);
    assert_eq!(board.promote_satisfied(4).unwrap(), vec![id.clone()]);
    board
        .reclaim(&id, None, None, Termination::default())
        .unwrap_err();
}

#[test]
fn a_card_has_a_limit_of_its_own() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(
        &mut board,
        &NewTask {
            max_retries: Some(1),
            ..card("x")
        },
    );
    assert_eq!(
        exit(&mut board, &id, WorkerExit::Unknown, 5),
        Release::Blocked {
            failures: 1,
            limit: 1
        }
    );
    assert!(
        events(&board, &id)
            .last()
            .unwrap()
            .contains(r#""limit_source":"task""#)
    );
    board.unblock(&id).unwrap();
    let now = task(&board, &id);
    assert_eq!(
        (now.consecutive_failures, now.last_failure_error),
        (0, None)
    );
}

#[test]
fn a_systemic_failure_blocks_at_once() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let (_, seen) = spawn(&mut board, &id);
    let policy = FailurePolicy {
        limit: 5,
        systemic: true,
    };
    assert_eq!(
        board
            .end_attempt(
                &id,
                &seen,
                &exited(WorkerExit::Code(1), policy),
                Termination::default()
            )
            .unwrap(),
        Release::Blocked {
            failures: 1,
            limit: 1
        }
    );
    assert_eq!(board.promote_satisfied(5).unwrap(), []);
    assert!(
        events(&board, &id)
            .last()
            .unwrap()
            .contains(r#"gave_up {"failures":1"#)
    );
}

#[test]
fn protocol_violations_have_a_limit_of_their_own() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let silent = WorkerExit::Code(0);
    assert_eq!(
        exit(&mut board, &id, silent, LIMIT),
        Release::Requeued { failures: 0 }
    );
    assert_eq!(
        exit(&mut board, &id, WorkerExit::Code(75), LIMIT),
        Release::Requeued { failures: 0 }
    );
    assert_eq!(
        exit(&mut board, &id, silent, LIMIT),
        Release::Requeued { failures: 0 }
    );
    // A quota wall in between does not matter.
    let (_, seen) = spawn(&mut board, &id);
    assert_eq!(running(&board, &id).violation_streak, 2);
    let policy = FailurePolicy::with_limit(LIMIT);
    assert_eq!(
        board
            .end_attempt(&id, &seen, &exited(silent, policy), Termination::default())
            .unwrap(),
        Release::Blocked {
            failures: 1,
            limit: 3
        }
    );
    assert_eq!(
        kinds(&board, &id)[kinds(&board, &id).len() - 2..],
        ["protocol_violation", "gave_up"]
    );
    assert!(events(&board, &id).last().unwrap().ends_with(
        r#""pid":77,"claimer":"host:1","protocol_violations":3,"protocol_violation_limit":3}"#
    ));
    assert_eq!(board.promote_satisfied(LIMIT).unwrap(), []);
    // Anything else in between starts the count over.
    let other = file(&mut board, &card("y"));
    for end in [silent, silent, WorkerExit::Code(1)] {
        let _release = exit(&mut board, &other, end, 9);
    }
    assert_eq!(
        exit(&mut board, &other, silent, 9),
        Release::Requeued { failures: 1 }
    );
}

#[test]
fn worker_exit_75_is_not_a_failure() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    for _ in 0..4 {
        assert_eq!(
            exit(&mut board, &id, WorkerExit::Code(75), 1),
            Release::Requeued { failures: 0 }
        );
    }
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"rate_limited {"pid":77,"claimer":"host:1","exit_code":75}"#
    );
    let snapshot = board.snapshot(LIMIT).unwrap();
    let guard = &snapshot.ready.first().unwrap().guard;
    assert_eq!(
        guard.last_run,
        Some(EndedRun {
            outcome: Some(Outcome::RateLimited),
            ended_at: START
        })
    );
}

#[test]
fn timeouts_and_exhausted_budgets_count_as_failures() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(
        &mut board,
        &NewTask {
            max_runtime_seconds: Some(60),
            ..card("x")
        },
    );
    let (run, seen) = spawn(&mut board, &id);
    let policy = FailurePolicy::with_limit(LIMIT);
    let timeout = AttemptEnd::TimedOut {
        elapsed_seconds: 61,
        limit_seconds: 60,
        policy,
    };
    let killed = Termination {
        sigkill: true,
        ..Termination::default()
    };
    assert_eq!(
        board.end_attempt(&id, &seen, &timeout, killed).unwrap(),
        Release::Requeued { failures: 1 }
    );
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"timed_out {"pid":77,"elapsed_seconds":61,"limit_seconds":60,"sigkill":true}"#
    );
    assert_eq!(
        board.run(run).unwrap().unwrap().ended_how(),
        Some(Outcome::TimedOut)
    );
    assert_eq!(
        board.end_attempt(&id, &seen, &timeout, killed).unwrap(),
        Release::LostRace
    );
    let run = claim(&mut board, &id);
    assert_eq!(
        board
            .record_budget_exhausted(&id, run, 90, 90, &policy)
            .unwrap(),
        Release::Blocked {
            failures: 2,
            limit: 2
        }
    );
    let last = events(&board, &id).pop().unwrap();
    assert!(
        last.contains(r#""trigger_outcome":"timed_out","budget_used":90,"budget_max":90"#),
        "{last}"
    );
    assert_eq!(
        board.run(run).unwrap().unwrap().ended_how(),
        Some(Outcome::GaveUp)
    );
}

#[test]
fn a_spawn_failure_releases_the_claim() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let policy = FailurePolicy::with_limit(LIMIT);
    let run = claim(&mut board, &id);
    let long = format!("workspace: {}", "ä".repeat(600));
    assert_eq!(
        board
            .record_spawn_failure(&id, run, &long, &policy)
            .unwrap(),
        Release::Requeued { failures: 1 }
    );
    let free = task(&board, &id);
    assert_eq!(free.claim_lock, None);
    assert_eq!(free.last_failure_error.unwrap().chars().count(), 500);
    assert!(kinds(&board, &id).ends_with(&["claimed".to_owned(), "spawn_failed".to_owned()]));
    assert_eq!(
        board
            .record_spawn_failure(&id, run, "again", &policy)
            .unwrap(),
        Release::LostRace
    );
    let run = claim(&mut board, &id);
    assert_eq!(
        board
            .record_spawn_failure(&id, run, "again", &policy)
            .unwrap(),
        Release::Blocked {
            failures: 2,
            limit: 2
        }
    );
    let closed = board.run(run).unwrap().unwrap();
    assert_eq!(closed.ended_how(), Some(Outcome::GaveUp));
    assert_eq!(
        serde_json::Value::Object(closed.metadata.unwrap()).to_string(),
        r#"{"failures":2,"trigger_outcome":"spawn_failed","effective_limit":2,"limit_source":"dispatcher"}"#
    );
}
