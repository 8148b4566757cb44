//! Cards from filing to archive, and everything that must not happen on the way.

use hermes_board::model::{BlockKind, CheckMark, Outcome, Status, TaskId, Termination};
use hermes_board::store::{
    BlockRequest, BoardStore, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest, CompleteOutcome,
    Completion, NewTask, PromoteRequest, ScheduleRequest, StartIn,
};
use hermes_board::{Error, StoredBoard};
use pretty_assertions::assert_eq;

use crate::{
    Fixture, START, assignee, below, card, claim, complete, events, file, kinds, status, task,
    try_claim,
};

fn block(board: &mut StoredBoard, id: &TaskId, kind: Option<BlockKind>) -> Status {
    let request = BlockRequest {
        task: id.clone(),
        reason: Some("because".to_owned()),
        kind,
        expected_run: None,
    };
    board.block(&request).unwrap().status
}

#[test]
fn a_card_is_created_claimed_and_completed() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card(" do it "));
    assert_eq!(id.as_str(), "t_00000001");
    let run = claim(&mut board, &id);
    let running = task(&board, &id);
    assert_eq!(running.title, "do it");
    assert_eq!(running.status(), Status::Running);
    assert_eq!(running.claim_lock.as_deref(), Some("host:1"));
    assert_eq!(running.claim_expires, Some(START + 900));
    assert_eq!(running.current_run_id, Some(run));
    fixture.pass(10);
    let completion = Completion {
        expected_run: Some(run),
        summary: Some("first line\nsecond".to_owned()),
        result: Some("ok".to_owned()),
        ..Completion::default()
    };
    let outcome = board.complete(&id, &completion).unwrap();
    let CompleteOutcome::Done(done) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(done.task.status(), Status::Done);
    assert_eq!(done.task.completed_at, Some(START + 10));
    assert_eq!(done.task.claim_lock, None);
    assert_eq!(done.task.current_run_id, None);
    assert_eq!(done.run, Some(run));
    let closed = board.run(run).unwrap().unwrap();
    assert_eq!(closed.status, "done");
    assert_eq!(closed.ended_how(), Some(Outcome::Completed));
    assert_eq!(closed.summary.as_deref(), Some("first line\nsecond"));
    assert_eq!(closed.worker_pid, None);
    assert_eq!(
        events(&board, &id),
        [
            r#"created {"assignee":"coder","status":"ready","parents":[],"tenant":null,"branch_name":null,"skills":null,"goal_mode":null}"#,
            r#"claimed {"lock":"host:1","expires":1700000900,"run_id":1}"#,
            r#"completed {"result_len":2,"summary":"first line"}"#,
        ]
    );
    let error = board.complete(&id, &completion).unwrap_err();
    assert_eq!(error.to_string(), "cannot complete t_00000001: it is done");
}

#[test]
fn children_wait_for_parents_and_cycles_are_refused() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let parent = file(&mut board, &card("parent"));
    let child = file(&mut board, &below(&[&parent]));
    assert_eq!(status(&board, &child), Status::Todo);
    assert!(matches!(
        board.link(&child, &parent),
        Err(Error::Cycle { .. })
    ));
    assert!(matches!(
        board.link(&child, &child),
        Err(Error::SelfLink { .. })
    ));
    assert!(matches!(
        board.link(&"t_none".into(), &child),
        Err(Error::UnknownParents { .. })
    ));
    let grandchild = file(&mut board, &below(&[&child]));
    assert!(matches!(
        board.link(&grandchild, &parent),
        Err(Error::Cycle { .. })
    ));
    let done = complete(&mut board, &parent);
    assert_eq!(done.promoted, vec![child.clone()]);
    assert_eq!(status(&board, &child), Status::Ready);
    assert_eq!(status(&board, &grandchild), Status::Todo);
    assert_eq!(kinds(&board, &child), ["created", "promoted"]);
    let other = file(&mut board, &card("other"));
    assert!(board.link(&other, &child).unwrap());
    assert_eq!(status(&board, &child), Status::Todo);
    assert!(!board.link(&other, &child).unwrap());
    assert_eq!(
        kinds(&board, &child),
        ["created", "promoted", "linked", "linked"]
    );
    assert_eq!(
        board.unlink(&other, &child).unwrap(),
        Some(vec![child.clone()])
    );
    assert_eq!(board.unlink(&other, &child).unwrap(), None);
    assert_eq!(status(&board, &child), Status::Ready);
}

#[test]
fn archived_parents_do_not_block_children() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let parent = file(&mut board, &card("parent"));
    let child = file(&mut board, &below(&[&parent]));
    assert_eq!(board.archive(&parent).unwrap(), vec![child.clone()]);
    assert_eq!(status(&board, &child), Status::Ready);
    let late = file(&mut board, &below(&[&parent]));
    assert_eq!(status(&board, &late), Status::Ready);
    block(&mut board, &late, None);
    assert_eq!(board.unblock(&late).unwrap(), Status::Ready);
    assert!(!board.link(&parent, &late).unwrap());
    assert_eq!(status(&board, &late), Status::Ready);
    claim(&mut board, &late);
}

#[test]
fn a_claim_on_a_card_with_an_open_parent_sends_it_back() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let parent = file(&mut board, &card("parent"));
    let child = file(&mut board, &below(&[&parent]));
    let forced = PromoteRequest {
        task: child.clone(),
        actor: "me".to_owned(),
        reason: None,
        force: false,
        dry_run: false,
    };
    let error = board.promote(&forced).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot promote {child}: it waits for {parent}")
    );
    board
        .promote(&PromoteRequest {
            force: true,
            dry_run: true,
            ..forced.clone()
        })
        .unwrap();
    assert_eq!(status(&board, &child), Status::Todo);
    board
        .promote(&PromoteRequest {
            force: true,
            ..forced
        })
        .unwrap();
    assert_eq!(status(&board, &child), Status::Ready);
    assert_eq!(try_claim(&mut board, &child), ClaimOutcome::ParentsOpen);
    assert_eq!(status(&board, &child), Status::Todo);
    assert_eq!(
        events(&board, &child).last().unwrap(),
        r#"claim_rejected {"reason":"parents_not_done"}"#
    );
    assert_eq!(
        try_claim(&mut board, &"t_none".into()),
        ClaimOutcome::Unknown
    );
    claim(&mut board, &parent);
    assert_eq!(
        try_claim(&mut board, &parent),
        ClaimOutcome::NotClaimable {
            status: "running".to_owned(),
            lock: Some("host:1".to_owned())
        }
    );
}

#[test]
fn a_card_that_starts_blocked_stays_blocked() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(
        &mut board,
        &NewTask {
            start: StartIn::Blocked,
            ..card("hold")
        },
    );
    assert_eq!(board.promote_satisfied(2).unwrap(), []);
    assert_eq!(status(&board, &id), Status::Blocked);
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"blocked {"reason":null,"kind":null,"recurrences":0,"source":"initial_status"}"#
    );
    assert_eq!(board.unblock(&id).unwrap(), Status::Ready);
    assert_eq!(events(&board, &id).last().unwrap(), "unblocked");
}

#[test]
fn blocked_again_for_the_same_reason_goes_to_triage() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("loop"));
    let input = Some(BlockKind::NeedsInput);
    assert_eq!(block(&mut board, &id, input), Status::Blocked);
    assert!(matches!(
        board.block(&BlockRequest {
            task: id.clone(),
            reason: None,
            kind: None,
            expected_run: None
        }),
        Err(Error::NotAllowed { .. })
    ));
    board.unblock(&id).unwrap();
    // Another reason starts over.
    assert_eq!(block(&mut board, &id, None), Status::Blocked);
    board.unblock(&id).unwrap();
    claim(&mut board, &id);
    assert_eq!(block(&mut board, &id, None), Status::Triage);
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"block_loop_detected {"reason":"because","kind":null,"recurrences":2,"limit":2}"#
    );
    assert_eq!(task(&board, &id).block_recurrences, 2);
}

#[test]
fn a_dependency_block_needs_an_open_parent_and_ends_with_it() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let parent = file(&mut board, &card("parent"));
    let id = file(&mut board, &card("waits"));
    claim(&mut board, &id);
    board.link(&parent, &id).unwrap();
    assert_eq!(
        block(&mut board, &id, Some(BlockKind::Dependency)),
        Status::Todo
    );
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"dependency_wait {"reason":"because","kind":"dependency"}"#
    );
    complete(&mut board, &parent);
    assert_eq!(status(&board, &id), Status::Ready);
    let outcome = board
        .block(&BlockRequest {
            task: id.clone(),
            reason: None,
            kind: Some(BlockKind::Dependency),
            expected_run: None,
        })
        .unwrap();
    assert_eq!(outcome.status, Status::Blocked);
    assert_eq!(outcome.kind, Some(BlockKind::NeedsInput));
    assert_eq!(board.promote_satisfied(2).unwrap(), []);
}

#[test]
fn blank_summaries_count_as_none() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("blank"));
    let blank = Completion {
        summary: Some("   ".to_owned()),
        result: Some("\n".to_owned()),
        ..Completion::default()
    };
    let CompleteOutcome::Done(done) = board.complete(&id, &blank).unwrap() else {
        panic!("not done")
    };
    assert_eq!(done.run, None);
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"completed {"result_len":0,"summary":null}"#
    );
    assert_eq!(board.runs(&id, None).unwrap(), []);
}

#[test]
fn completing_an_unclaimed_card_records_an_attempt() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("quick"));
    let completion = Completion {
        result: Some("x".to_owned()),
        ..Completion::default()
    };
    board.complete(&id, &completion).unwrap();
    let runs = board.runs(&id, None).unwrap();
    assert_eq!(runs.len(), 1);
    let run = runs.first().unwrap();
    assert_eq!(run.status, "completed");
    assert_eq!(run.profile.as_deref(), Some("coder"));
    assert_eq!((run.started_at, run.ended_at), (START, Some(START)));
}

#[test]
fn phantom_cards_refuse_a_completion() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("work"));
    let run = claim(&mut board, &id);
    let own = file(
        &mut board,
        &NewTask {
            created_by: Some("coder".to_owned()),
            ..card("own")
        },
    );
    let linked = file(&mut board, &below(&[&id]));
    let foreign = file(&mut board, &card("foreign"));
    let with = |cards: &[&TaskId]| Completion {
        expected_run: Some(run),
        summary: Some("made cards".to_owned()),
        created_cards: cards.iter().map(|id| (*id).clone()).collect(),
        ..Completion::default()
    };
    let ghost = TaskId::from("t_deadbeef");
    let error = board
        .complete(&id, &with(&[&own, &ghost, &foreign]))
        .unwrap_err();
    assert!(
        matches!(&error, Error::PhantomCards { phantom, .. } if phantom == &[ghost, foreign.clone()]),
        "{error}"
    );
    assert_eq!(status(&board, &id), Status::Running);
    assert_eq!(
        events(&board, &id).last().unwrap(),
        &format!(
            r#"completion_blocked_hallucination {{"phantom_cards":["t_deadbeef","{foreign}"],"verified_cards":["{own}"],"summary_preview":"made cards"}}"#
        )
    );
    let outcome = board.complete(&id, &with(&[&own, &linked])).unwrap();
    assert!(matches!(outcome, CompleteOutcome::Done(_)));
    assert_eq!(
        events(&board, &id).last().unwrap(),
        &format!(
            r#"completed {{"result_len":0,"summary":"made cards","verified_cards":["{own}","{linked}"]}}"#
        )
    );
}

#[test]
fn unknown_cards_in_a_summary_are_noted() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("work"));
    let completion = Completion {
        summary: Some(format!(
            "see {id}, t_0123456789ab and t_feedface; not t_12 or at_feedface"
        )),
        ..Completion::default()
    };
    let CompleteOutcome::Done(done) = board.complete(&id, &completion).unwrap() else {
        panic!("not done")
    };
    assert_eq!(
        done.phantom_references,
        [TaskId::from("t_0123456789ab"), TaskId::from("t_feedface")]
    );
    assert_eq!(
        kinds(&board, &id),
        ["created", "completed", "suspected_hallucinated_references"]
    );
}

#[test]
fn a_stale_attempt_is_refused() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("work"));
    let stale = claim(&mut board, &id);
    board
        .reclaim(
            &id,
            Some("host:1"),
            Some("stuck"),
            hermes_board::model::Termination::default(),
        )
        .map(|applied| assert_eq!(applied, hermes_board::store::Applied::Yes))
        .unwrap();
    let fresh = claim(&mut board, &id);
    let stale_run = Some(stale);
    let completion = Completion {
        expected_run: stale_run,
        ..Completion::default()
    };
    let errors = [
        board.complete(&id, &completion).map(drop).unwrap_err(),
        board.heartbeat(&id, None, stale_run).unwrap_err(),
        board
            .block(&BlockRequest {
                task: id.clone(),
                reason: None,
                kind: None,
                expected_run: stale_run,
            })
            .map(drop)
            .unwrap_err(),
        board
            .schedule(&ScheduleRequest {
                task: id.clone(),
                reason: None,
                at: None,
                expected_run: stale_run,
            })
            .unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::StaleRun { .. }), "{error}");
    }
    let now = task(&board, &id);
    assert_eq!(now.status(), Status::Running);
    assert_eq!(now.current_run_id, Some(fresh));
}

#[test]
fn a_scheduled_card_wakes_at_its_time() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let at = START + 100;
    let id = file(
        &mut board,
        &NewTask {
            start: StartIn::Scheduled(at),
            ..card("later")
        },
    );
    let parent = file(&mut board, &card("parent"));
    let waits = file(&mut board, &card("waits"));
    board
        .schedule(&ScheduleRequest {
            task: waits.clone(),
            reason: Some("tomorrow".to_owned()),
            at: Some(at),
            expected_run: None,
        })
        .unwrap();
    board.link(&parent, &waits).unwrap();
    let forever = file(&mut board, &card("forever"));
    board
        .schedule(&ScheduleRequest {
            task: forever.clone(),
            reason: None,
            at: None,
            expected_run: None,
        })
        .unwrap();
    assert_eq!(board.wake_due().unwrap(), []);
    assert!(matches!(
        try_claim(&mut board, &id),
        ClaimOutcome::NotClaimable { .. }
    ));
    fixture.pass(100);
    assert_eq!(
        board.wake_due().unwrap(),
        [(id.clone(), Status::Ready), (waits.clone(), Status::Todo)]
    );
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"unblocked {"source":"scheduled_at"}"#
    );
    assert_eq!(
        events(&board, &waits).last().unwrap(),
        r#"unblocked {"status":"todo","source":"scheduled_at"}"#
    );
    assert_eq!(status(&board, &forever), Status::Scheduled);
    claim(&mut board, &id);
    assert_eq!(task(&board, &id).scheduled_at, None);
}

#[test]
fn a_card_woken_early_cannot_be_claimed_before_its_time() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(
        &mut board,
        &NewTask {
            start: StartIn::Scheduled(START + 50),
            ..card("later")
        },
    );
    fixture.run_sql(&format!(
        "UPDATE tasks SET status = 'ready' WHERE id = '{id}'"
    ));
    assert_eq!(
        try_claim(&mut board, &id),
        ClaimOutcome::TooEarly { at: START + 50 }
    );
    fixture.pass(50);
    claim(&mut board, &id);
}

#[test]
fn an_idempotency_key_returns_its_card_until_archived() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let keyed = NewTask {
        idempotency_key: Some("K".to_owned()),
        ..card("once")
    };
    let first = board.create(&keyed).unwrap();
    assert!(!first.existed);
    let other = NewTask {
        title: "ignored".to_owned(),
        parents: vec!["t_none".into()],
        ..keyed.clone()
    };
    let again = board.create(&other).unwrap();
    assert!(again.existed);
    assert_eq!(again.task, first.task);
    board.archive(&first.task.id).unwrap();
    assert!(!board.create(&keyed).unwrap().existed);
}

#[test]
fn invalid_requests_create_nothing() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let bad = [
        NewTask::titled("  \n"),
        NewTask {
            parents: vec!["t_none".into()],
            ..card("x")
        },
        NewTask {
            branch_name: Some("b".to_owned()),
            ..card("x")
        },
        NewTask {
            checks: vec![" ".into()],
            ..card("x")
        },
        NewTask {
            max_retries: Some(0),
            ..card("x")
        },
    ];
    for new in bad {
        assert!(board.create(&new).is_err(), "{new:?}");
    }
    assert!(board.counts().unwrap().is_empty());
}

#[test]
fn unusual_titles_are_stored_unchanged() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let mut titles = vec![
        "x".repeat(1 << 20),
        "a\u{202e}b\u{1b}[31mc\u{1}d".to_owned(),
    ];
    // Servers hold no such text, and refuse it.
    titles.extend((!crate::ON_SERVER).then(|| "a\u{0}b".to_owned()));
    for title in titles {
        let id = file(&mut board, &card(&title));
        assert_eq!(task(&board, &id).title, title);
    }
}

#[test]
fn reassigning_a_card_resets_its_failures() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let run = claim(&mut board, &id);
    let error = board.assign(&id, Some(&assignee("other"))).unwrap_err();
    assert!(matches!(error, Error::InProgress { .. }));
    let policy = hermes_board::store::FailurePolicy::with_limit(5);
    let release = board
        .record_spawn_failure(&id, run, "no such file", &policy)
        .unwrap();
    assert_eq!(
        release,
        hermes_board::store::Release::Requeued { failures: 1 }
    );
    board.assign(&id, Some(&assignee("coder"))).unwrap();
    assert_eq!(task(&board, &id).consecutive_failures, 1);
    board.assign(&id, None).unwrap();
    let now = task(&board, &id);
    assert_eq!((now.assignee, now.consecutive_failures), (None, 0));
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"assigned {"assignee":null}"#
    );
}

#[test]
fn a_review_is_claimed_despite_open_parents() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    fixture.run_sql(&format!(
        "UPDATE tasks SET status = 'review' WHERE id = '{id}'"
    ));
    let request = ClaimRequest {
        task: id.clone(),
        lock: "h:2".to_owned(),
        ttl_seconds: 0,
        from: ClaimFrom::Review,
        dispatcher: None,
        host: None,
        caps: ClaimCaps::default(),
    };
    let outcome = board.claim(&request).unwrap();
    assert!(matches!(outcome, ClaimOutcome::Claimed(_)), "{outcome:?}");
    assert_eq!(task(&board, &id).claim_expires, Some(START + 1));
    assert!(
        events(&board, &id)
            .last()
            .unwrap()
            .contains(r#""source_status":"review""#)
    );
    assert_eq!(board.check_mark(&id).unwrap(), CheckMark::None);
}

#[test]
fn a_claim_gives_the_card_as_it_is_stored() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    for _ in 0..2 {
        let outcome = board.claim(&ClaimRequest {
            task: id.clone(),
            lock: "here:1".to_owned(),
            ttl_seconds: 60,
            from: ClaimFrom::Ready,
            dispatcher: None,
            host: None,
            caps: ClaimCaps::default(),
        });
        let ClaimOutcome::Claimed(claimed) = outcome.unwrap() else {
            panic!("not claimed");
        };
        assert_eq!(claimed.task, task(&board, &id));
        let _applied = board
            .reclaim(&id, Some("here:1"), None, Termination::default())
            .unwrap();
        fixture.pass(10);
    }
}
