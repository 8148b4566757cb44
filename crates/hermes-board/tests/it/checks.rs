//! Acceptance checks: only a pass makes a card done, and no crash leaves one behind.

use hermes_board::Error;
use hermes_board::model::{CheckMark, CheckState, Outcome, RunId, Status, Termination, WorkerExit};
use hermes_board::store::{
    BoardStore, CheckOutcome, CheckStart, CompleteOutcome, Completion, FailurePolicy, Release,
};
use pretty_assertions::assert_eq;

use crate::check_round::{begin_as, checked_card, checker, evidence, finish};
use crate::{Fixture, START, claim, events, exited, file, kinds, move_to, process, status, task};

#[test]
fn a_completion_waits_for_the_checks() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(
        &mut board,
        &checked_card(&[" cargo test ", "cargo fmt --check"]),
    );
    let run = claim(&mut board, &id);
    let outcome = board.complete(&id, &Completion::default()).unwrap();
    let CompleteOutcome::NeedsChecks(checks) = outcome else {
        panic!("{outcome:?}")
    };
    let commands: Vec<&str> = checks.iter().map(|check| check.command.as_str()).collect();
    assert_eq!(commands, ["cargo test", "cargo fmt --check"]);
    assert_eq!(status(&board, &id), Status::Running);
    assert_eq!(board.check_mark(&id).unwrap(), CheckMark::Open);

    let begun = begin_as(&mut board, &id, 77, false).unwrap();
    assert_eq!(begun.session.run_id, run);
    assert_eq!(begun.checks, checks);
    let session = begun.session.id;
    board.record_check(session, &evidence(1, 0)).unwrap();
    let early = board
        .finish_checks(session, &Completion::default(), &FailurePolicy::default())
        .unwrap_err();
    assert!(early.to_string().contains("not every check"), "{early}");
    board.record_check(session, &evidence(2, 0)).unwrap();
    fixture.pass(5);
    let outcome = finish(&mut board, session);
    let CheckOutcome::Done(done) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(done.run, Some(run));
    assert_eq!(done.task.status(), Status::Done);
    assert_eq!(board.check_mark(&id).unwrap(), CheckMark::Checked);
    assert_eq!(
        kinds(&board, &id),
        [
            "created",
            "claimed",
            "checks_started",
            "checks_passed",
            "completed"
        ]
    );
    let rounds = board.check_sessions(&id).unwrap();
    assert_eq!(rounds.len(), 1);
    let round = rounds.first().unwrap();
    assert_eq!(round.state, CheckState::Passed);
    assert_eq!(round.results, [evidence(1, 0), evidence(2, 0)]);
    assert!(matches!(
        board.record_check(session, &evidence(1, 0)),
        Err(Error::ChecksOver { .. })
    ));
}

#[test]
fn a_check_that_does_not_pass_is_a_failed_attempt_with_evidence() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &checked_card(&["check 1", "check 2"]));
    for failures in 1..=2 {
        let run = claim(&mut board, &id);
        let session = begin_as(&mut board, &id, 77, false).unwrap().session.id;
        board.record_check(session, &evidence(1, 0)).unwrap();
        let mut failed = evidence(2, 101);
        failed.command = "cargo test auth".to_owned();
        board.record_check(session, &failed).unwrap();
        let expected = if failures == 1 {
            Release::Requeued { failures: 1 }
        } else {
            Release::Blocked {
                failures: 2,
                limit: 2,
            }
        };
        assert_eq!(
            finish(&mut board, session),
            CheckOutcome::Failed {
                evidence: failed,
                release: expected
            }
        );
        let closed = board.run(run).unwrap().unwrap();
        assert_eq!(closed.ended_how(), Some(Outcome::CheckFailed));
        assert_eq!(
            closed.error.as_deref(),
            Some("acceptance check 2 of 2 ended with exit code 101")
        );
    }
    let now = task(&board, &id);
    assert_eq!(now.status(), Status::Blocked);
    // The words of the command must not look like the nature of the failure.
    assert!(!now.last_failure_error.unwrap().contains("auth"));
    let comment = board.comments(&id).unwrap().pop().unwrap();
    assert_eq!(comment.author, "acceptance-checks");
    assert_eq!(
        comment.body,
        "Check 2 of 2 failed: it ended with exit code 101 after 12 ms.\n\n    cargo test \
         auth\n\nThe end of its output:\n\n    output of 2"
    );
    assert_eq!(
        kinds(&board, &id),
        [
            "created",
            "claimed",
            "checks_started",
            "check_failed",
            "commented",
            "claimed",
            "checks_started",
            "check_failed",
            "commented",
            "gave_up"
        ]
    );
    let last = events(&board, &id).pop().unwrap();
    assert!(
        last.contains(r#""trigger_outcome":"check_failed","check":2"#),
        "{last}"
    );
    assert_eq!(board.promote_satisfied(2).unwrap(), []);
}

#[test]
fn a_card_that_nobody_works_on_is_claimed_by_the_checker() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &checked_card(&["true"]));
    let begun = begin_as(&mut board, &id, 4242, false).unwrap();
    assert_eq!(begun.task.status(), Status::Running);
    assert_eq!(begun.task.worker_pid, Some(4242));
    assert_eq!(begun.task.claim_lock.as_deref(), Some("host:4242"));
    assert_eq!(begun.task.claim_expires, Some(START + 900));
    // A dispatcher finds it like the card of any worker that is gone.
    let snapshot = board.snapshot(2).unwrap();
    let seen = &snapshot.running.first().unwrap().claim;
    let policy = FailurePolicy::with_limit(2);
    let release = board
        .end_attempt(
            &id,
            seen,
            &exited(WorkerExit::Unknown, policy),
            Termination::default(),
        )
        .unwrap();
    assert_eq!(release, Release::Requeued { failures: 1 });
    assert_eq!(
        board.check_sessions(&id).unwrap().first().unwrap().state,
        CheckState::Abandoned
    );
    assert!(matches!(
        board.finish_checks(begun.session.id, &Completion::default(), &policy),
        Err(Error::ChecksOver { .. })
    ));
    // Given up by hand it is free again at once, without a failure.
    let begun = begin_as(&mut board, &id, 4243, false).unwrap();
    board.abandon_checks(begun.session.id).unwrap();
    let free = task(&board, &id);
    assert_eq!(free.status(), Status::Ready);
    assert_eq!(free.claim_lock, None);
    assert_eq!(free.consecutive_failures, 1);
}

#[test]
fn one_check_session_at_a_time_and_a_dead_one_is_abandoned() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &checked_card(&["true"]));
    claim(&mut board, &id);
    let first = begin_as(&mut board, &id, 10, false).unwrap().session.id;
    let error = begin_as(&mut board, &id, 11, false).unwrap_err();
    assert!(matches!(&error, Error::ChecksInProgress { checker, .. } if checker == "host:10"));
    let second = begin_as(&mut board, &id, 11, true).unwrap().session.id;
    assert!(matches!(
        board.record_check(first, &evidence(1, 0)),
        Err(Error::ChecksOver { .. })
    ));
    board.record_check(second, &evidence(1, 0)).unwrap();
    assert!(matches!(finish(&mut board, second), CheckOutcome::Done(_)));
}

#[test]
fn finishing_checks_of_a_changed_card_loses_the_race() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &checked_card(&["true"]));
    claim(&mut board, &id);
    let session = begin_as(&mut board, &id, 10, false).unwrap().session.id;
    board.record_check(session, &evidence(1, 0)).unwrap();
    // Another program ends the attempt and starts another one.
    fixture.run_sql("UPDATE tasks SET current_run_id = 99");
    assert_eq!(finish(&mut board, session), CheckOutcome::LostRace);
    assert_eq!(task(&board, &id).current_run_id, Some(RunId(99)));
    assert_eq!(status(&board, &id), Status::Running);
}

#[test]
fn a_card_completed_by_another_program_is_unchecked() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &checked_card(&["true"]));
    let at = START + 7;
    fixture.run_sql(&format!(
        "UPDATE tasks SET status = 'done', completed_at = {at}"
    ));
    assert_eq!(board.check_mark(&id).unwrap(), CheckMark::Unchecked);
    // A pass of earlier does not count for a later completion.
    move_to(&fixture, &id, Status::Ready);
    let session = begin_as(&mut board, &id, 10, false).unwrap().session.id;
    board.record_check(session, &evidence(1, 0)).unwrap();
    assert!(matches!(finish(&mut board, session), CheckOutcome::Done(_)));
    assert_eq!(board.check_mark(&id).unwrap(), CheckMark::Checked);
    let at = START + 9;
    fixture.run_sql(&format!(
        "UPDATE tasks SET status = 'done', completed_at = {at}"
    ));
    assert_eq!(board.check_mark(&id).unwrap(), CheckMark::Unchecked);
    let shown = serde_json::to_value(board.show(&id, None).unwrap()).unwrap();
    assert_eq!(shown["checked"], "unchecked");
    assert_eq!(shown["checks"][0]["command"], "true");
}

#[test]
fn checks_are_changed_only_while_nobody_works() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &checked_card(&["a", "b", "c"]));
    let new = ["x".into(), "y".into()];
    board.set_checks(&id, &new).unwrap();
    assert_eq!(board.checks(&id).unwrap().len(), 2);
    assert!(board.set_checks(&id, &[" ".into()]).is_err());
    claim(&mut board, &id);
    assert!(matches!(
        board.set_checks(&id, &[]),
        Err(Error::InProgress { .. })
    ));
    assert!(matches!(
        board.set_checks(&"t_none".into(), &[]),
        Err(Error::UnknownTask { .. })
    ));
}

#[test]
fn phantom_cards_refuse_the_completion_before_any_check() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &checked_card(&["true"]));
    claim(&mut board, &id);
    let completion = Completion {
        created_cards: vec!["t_deadbeef".into()],
        ..Completion::default()
    };
    let start = CheckStart {
        checker: checker(1),
        ttl_seconds: 9,
        is_gone: &|_| false,
    };
    let error = board.begin_checks(&id, &completion, &start).unwrap_err();
    assert!(matches!(error, Error::PhantomCards { .. }));
    assert_eq!(
        kinds(&board, &id).last().unwrap(),
        "completion_blocked_hallucination"
    );
    assert!(board.check_sessions(&id).unwrap().is_empty());
}

#[test]
fn killed_at_any_write_the_card_is_free_running_or_done_and_never_in_between() {
    let mut seen = Vec::new();
    for die_at in 1..=7 {
        let fixture = Fixture::new();
        process("check", fixture.dir.path())
            .arg(die_at.to_string())
            .status()
            .unwrap();
        let mut board = fixture.open();
        let id = board
            .list(&hermes_board::ListQuery::default())
            .unwrap()
            .pop()
            .unwrap()
            .id;
        let found = task(&board, &id);
        let rounds = board.check_sessions(&id).unwrap();
        let round = rounds
            .first()
            .map(|round| (round.state, round.results.len()));
        seen.push((found.status(), round));
        match found.status() {
            Status::Ready => assert_eq!(round, None),
            // A dispatcher takes it back from the process that died.
            Status::Running => {
                let snapshot = board.snapshot(2).unwrap();
                let claim = &snapshot.running.first().unwrap().claim;
                let policy = FailurePolicy::with_limit(2);
                let release = board
                    .end_attempt(
                        &id,
                        claim,
                        &exited(WorkerExit::Unknown, policy),
                        Termination::default(),
                    )
                    .unwrap();
                assert_eq!(release, Release::Requeued { failures: 1 });
                assert_eq!(status(&board, &id), Status::Ready);
            }
            Status::Done => assert_eq!(board.check_mark(&id).unwrap(), CheckMark::Checked),
            other => panic!("{other}"),
        }
    }
    let pending = |results| (Status::Running, Some((CheckState::Pending, results)));
    let passed = (Status::Done, Some((CheckState::Passed, 1)));
    assert_eq!(
        seen,
        [
            (Status::Ready, None),
            pending(0),
            pending(0),
            pending(1),
            pending(1),
            passed,
            passed
        ]
    );
}
