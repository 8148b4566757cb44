//! What a dispatcher does to cards: claims, their ends, and what a planner is told.

use hermes_board::StoredBoard;
use hermes_board::model::{
    Outcome, RunId, Status, TaskId, Termination, WorkerExit, WorkerIdentity,
};
use hermes_board::store::{
    Applied, AttemptEnd, BoardStore, ClaimSeen, FailurePolicy, NewTask, Release, ResolvedWorkspace,
    RunningTask, Silence, StartIn, WaitNote, WaitReason,
};
use pretty_assertions::assert_eq;

use crate::{
    Fixture, START, assignee, below, card, claim, claimant, complete, events, exited, file, kinds,
    move_to, status, task,
};

pub(crate) const LIMIT: i64 = 2;

pub(crate) fn running(board: &StoredBoard, id: &TaskId) -> RunningTask {
    let snapshot = board.snapshot(LIMIT).unwrap();
    snapshot
        .running
        .into_iter()
        .find(|work| work.card.id == *id)
        .unwrap()
}

/// Claims a card and gives it a worker.
pub(crate) fn spawn(board: &mut StoredBoard, id: &TaskId) -> (RunId, ClaimSeen) {
    let run = claim(board, id);
    assert_eq!(
        board.record_spawned(id, run, 77, None).unwrap(),
        Applied::Yes
    );
    (run, running(board, id).claim)
}

pub(crate) fn exit(board: &mut StoredBoard, id: &TaskId, exit: WorkerExit, limit: i64) -> Release {
    let (_, seen) = spawn(board, id);
    let policy = FailurePolicy::with_limit(limit);
    board
        .end_attempt(id, &seen, &exited(exit, policy), Termination::default())
        .unwrap()
}

#[test]
fn a_worker_is_recorded_with_its_identity() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let run = claim(&mut board, &id);
    let workspace = ResolvedWorkspace {
        path: "/ws/x".into(),
        branch: Some("wt/x".to_owned()),
        base: None,
    };
    assert_eq!(
        board
            .record_workspace(&id, claimant(run), &workspace)
            .unwrap(),
        Applied::Yes
    );
    let identity = WorkerIdentity {
        start: 12345,
        boot_id: "boot".to_owned(),
    };
    assert_eq!(
        board.record_spawned(&id, run, 77, Some(&identity)).unwrap(),
        Applied::Yes
    );
    let now = task(&board, &id);
    assert_eq!(now.workspace_path.as_deref(), Some("/ws/x"));
    assert_eq!(now.branch_name.as_deref(), Some("wt/x"));
    assert_eq!(now.worker_pid, Some(77));
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"spawned {"pid":77,"start":12345,"boot_id":"boot"}"#
    );
    assert_eq!(running(&board, &id).identity, Some(identity));
    // An attempt that is over has no worker.
    let other = RunId(run.0 + 1);
    assert_eq!(
        board.record_spawned(&id, other, 78, None).unwrap(),
        Applied::LostRace
    );
    assert_eq!(
        board
            .record_workspace(&id, claimant(other), &workspace)
            .unwrap(),
        Applied::LostRace
    );
}

#[test]
fn keep_alive_extends_the_claim_without_an_event() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let run = claim(&mut board, &id);
    let told = events(&board, &id).len();
    fixture.pass(100);
    let other = Some("other:1");
    assert_eq!(
        board.keep_alive(&id, run, other, 900).unwrap(),
        Applied::Yes
    );
    let seen = task(&board, &id);
    assert_eq!(seen.claim_expires, Some(START + 900), "not its claim");
    assert_eq!(seen.last_heartbeat_at, Some(START + 100));
    fixture.pass(100);
    let own = Some("host:1");
    assert_eq!(board.keep_alive(&id, run, own, 900).unwrap(), Applied::Yes);
    assert_eq!(task(&board, &id).claim_expires, Some(START + 1100));
    let open = board.run(run).unwrap().unwrap();
    assert_eq!(open.claim_expires, Some(START + 1100));
    assert_eq!(open.last_heartbeat_at, Some(START + 200));
    assert_eq!(events(&board, &id).len(), told);
    // Another attempt is none of its business.
    let later = hermes_board::model::RunId(run.0 + 1);
    let applied = board.keep_alive(&id, later, own, 900).unwrap();
    assert_eq!(applied, Applied::LostRace);
    crate::complete(&mut board, &id);
    let applied = board.keep_alive(&id, run, own, 900).unwrap();
    assert_eq!(applied, Applied::LostRace);
}

#[test]
fn only_the_holder_extends_a_claim() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let run = claim(&mut board, &id);
    fixture.pass(100);
    assert_eq!(
        board.extend_own_claim(&id, "other:1", 900).unwrap(),
        Applied::LostRace
    );
    assert_eq!(
        board.extend_own_claim(&id, "host:1", 900).unwrap(),
        Applied::Yes
    );
    board.heartbeat(&id, Some("half way"), Some(run)).unwrap();
    let now = task(&board, &id);
    assert_eq!(now.claim_expires, Some(START + 1000));
    assert_eq!(now.last_heartbeat_at, Some(START + 100));
    let open = board.run(run).unwrap().unwrap();
    assert_eq!(open.claim_expires, Some(START + 1000));
    assert_eq!(open.last_heartbeat_at, Some(START + 100));
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"heartbeat {"note":"half way"}"#
    );
    complete(&mut board, &id);
    assert!(board.heartbeat(&id, None, None).is_err());
}

#[test]
fn an_expired_claim_is_extended_deferred_or_reclaimed() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let (run, seen) = spawn(&mut board, &id);
    fixture.pass(1000);
    assert_eq!(
        board.extend_claim(&id, &seen, START + 1900).unwrap(),
        Applied::Yes
    );
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"claim_extended {"reason":"pid_alive","worker_pid":77,"claim_lock":"host:1","claim_expires_was":1700000900,"claim_expires_now":1700001900,"last_heartbeat_at":null}"#
    );
    // What was seen before is no longer so.
    assert_eq!(
        board.extend_claim(&id, &seen, START + 9999).unwrap(),
        Applied::LostRace
    );
    let expired = |heartbeat_stale| AttemptEnd::Expired { heartbeat_stale };
    assert_eq!(
        board
            .end_attempt(&id, &seen, &expired(false), Termination::default())
            .unwrap(),
        Release::LostRace
    );
    let seen = running(&board, &id).claim;
    let alive = Termination {
        prev_pid: Some(77),
        host_local: true,
        termination_attempted: true,
        ..Termination::default()
    };
    let deferred = board
        .defer_reclaim(&id, &seen, START + 1120, "ttl_expired_worker_alive", alive)
        .unwrap();
    assert_eq!(deferred, Applied::Yes);
    assert_eq!(status(&board, &id), Status::Running);
    assert_eq!(kinds(&board, &id).last().unwrap(), "reclaim_deferred");
    let seen = running(&board, &id).claim;
    let gone = Termination {
        terminated: true,
        sigkill: true,
        ..alive
    };
    assert_eq!(
        board.end_attempt(&id, &seen, &expired(true), gone).unwrap(),
        Release::Requeued { failures: 0 }
    );
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"reclaimed {"stale_lock":"host:1","worker_pid":77,"claim_expires":1700001120,"last_heartbeat_at":null,"now":1700001000,"host_local":true,"heartbeat_stale":true,"prev_pid":77,"termination_attempted":true,"terminated":true,"sigkill":true}"#
    );
    let free = task(&board, &id);
    assert_eq!(free.status(), Status::Ready);
    assert_eq!((free.claim_lock, free.worker_pid), (None, None));
    assert_eq!(free.consecutive_failures, 0);
    let closed = board.run(run).unwrap().unwrap();
    assert_eq!(closed.ended_how(), Some(Outcome::Reclaimed));
    assert_eq!(closed.metadata.unwrap()["sigkill"], true);
}

#[test]
fn reclaiming_from_a_silent_worker_counts_no_failure() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let (run, seen) = spawn(&mut board, &id);
    let silence = Silence {
        elapsed_seconds: 15_000,
        last_heartbeat_at: None,
        heartbeat_age_seconds: None,
        timeout_seconds: 14_400,
    };
    let end = AttemptEnd::Silent(silence);
    let release = board
        .end_attempt(&id, &seen, &end, Termination::default())
        .unwrap();
    assert_eq!(release, Release::Requeued { failures: 0 });
    let closed = board.run(run).unwrap().unwrap();
    assert_eq!(closed.ended_how(), Some(Outcome::Stale));
    assert_eq!(
        closed.error.as_deref(),
        Some("no heartbeat ever after 15000 s running")
    );
    assert_eq!(task(&board, &id).consecutive_failures, 0);
    assert!(events(&board, &id).last().unwrap().starts_with(
        r#"stale {"elapsed_seconds":15000,"last_heartbeat_at":null,"heartbeat_age_seconds":null,"timeout_seconds":14400,"pid":77,"prev_pid":null"#
    ));
}

#[test]
fn reclaiming_by_hand_resets_failures_and_needs_a_claim() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let _release = exit(&mut board, &id, WorkerExit::Code(1), 5);
    spawn(&mut board, &id);
    let report = Termination {
        prev_pid: Some(77),
        ..Termination::default()
    };
    assert_eq!(
        board.reclaim(&id, Some("other:9"), None, report).unwrap(),
        Applied::LostRace
    );
    assert_eq!(
        board
            .reclaim(&id, Some("host:1"), Some("stuck"), report)
            .unwrap(),
        Applied::Yes
    );
    let free = task(&board, &id);
    assert_eq!(free.status(), Status::Ready);
    assert_eq!(free.consecutive_failures, 0);
    assert!(events(&board, &id).last().unwrap().starts_with(
        r#"reclaimed {"manual":true,"reason":"stuck","prev_lock":"host:1","prev_pid":77"#
    ));
    let error = board.reclaim(&id, None, None, report).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot reclaim {id}: it is ready")
    );
}

#[test]
fn a_guard_reason_is_noted_once_per_hour() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let mut note = |reason| {
        let notes = [WaitNote {
            task: id.clone(),
            reason: WaitReason::Guarded(reason),
        }];
        board.note_waiting(&notes).unwrap()
    };
    assert_eq!(note("active_pr"), 1);
    assert_eq!(note("active_pr"), 0);
    fixture.pass(3599);
    assert_eq!(note("active_pr"), 0);
    assert_eq!(note("blocker_auth"), 1);
    assert_eq!(note("active_pr"), 1);
    fixture.pass(3600);
    assert_eq!(note("active_pr"), 1);
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"respawn_guarded {"reason":"active_pr"}"#
    );
}

#[test]
fn only_a_free_card_without_assignee_gets_the_default_one() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &NewTask::titled("x"));
    let given = file(&mut board, &card("y"));
    assert_eq!(
        board.assign_default(&given, &assignee("alpha")).unwrap(),
        Applied::LostRace
    );
    assert_eq!(
        board.assign_default(&id, &assignee("alpha")).unwrap(),
        Applied::Yes
    );
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"assigned {"assignee":"alpha","source":"kanban.default_assignee"}"#
    );
    assert_eq!(task(&board, &given).assignee.as_deref(), Some("coder"));
}

#[test]
fn a_snapshot_has_everything_the_planner_needs() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let urgent = |title: &str, priority| NewTask {
        priority,
        ..card(title)
    };
    let late = file(&mut board, &urgent("late", 1));
    let first = file(&mut board, &urgent("first", 5));
    let nobody = file(&mut board, &NewTask::titled("nobody"));
    let parent = file(&mut board, &urgent("parent", 9));
    let child = file(&mut board, &below(&[&parent]));
    let orphan = file(&mut board, &below(&[&parent]));
    let due = file(
        &mut board,
        &NewTask {
            start: StartIn::Scheduled(START + 5),
            ..card("due")
        },
    );
    let parked = file(
        &mut board,
        &NewTask {
            start: StartIn::Scheduled(START + 5000),
            ..card("parked")
        },
    );
    claim(&mut board, &parent);
    fixture.pass(10);
    // Another program takes a link away without telling anybody.
    fixture.run_sql(&format!(
        "DELETE FROM task_links WHERE child_id = '{orphan}'"
    ));
    let snapshot = board.snapshot(LIMIT).unwrap();
    let names = |cards: &[hermes_board::store::Candidate]| -> Vec<TaskId> {
        cards.iter().map(|card| card.id.clone()).collect()
    };
    assert_eq!(snapshot.taken_at, START + 10);
    assert_eq!(names(&snapshot.ready), vec![first, late, nobody]);
    assert_eq!(snapshot.review, []);
    assert_eq!(names(&snapshot.promotable), vec![orphan]);
    assert_eq!(names(&snapshot.due), vec![due]);
    assert_eq!(snapshot.running.len(), 1);
    let work = snapshot.running.first().unwrap();
    assert_eq!(work.card.id, parent);
    assert_eq!(work.started_at, Some(START));
    assert_eq!(work.claim.lock.as_deref(), Some("host:1"));
    assert_eq!(work.card.assignee.as_deref(), Some("coder"));
    assert_eq!(status(&board, &child), Status::Todo);
    assert_eq!(status(&board, &parked), Status::Scheduled);
}

#[test]
fn guard_facts_are_limited_to_their_windows() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let again = file(&mut board, &card("again"));
    claim(&mut board, &again);
    complete(&mut board, &again);
    fixture.pass(60);
    move_to(&fixture, &again, Status::Ready);
    let discussed = file(&mut board, &card("discussed"));
    board
        .add_comment(
            &discussed,
            "me",
            "see HTTPS://GitHub.com/o/r/pull/12 please",
        )
        .unwrap();
    let plain = file(&mut board, &card("plain"));
    board
        .add_comment(&plain, "me", "github.com/ /pull/x is no address")
        .unwrap();
    let facts = |board: &StoredBoard, id: &TaskId| {
        let snapshot = board.snapshot(LIMIT).unwrap();
        let found = snapshot.ready.into_iter().find(|card| card.id == *id);
        found.unwrap().guard
    };
    let guard = facts(&board, &again);
    assert_eq!(guard.completed_at, Some(START));
    assert_eq!(guard.requeued_at, Some(START + 60));
    assert_eq!(facts(&board, &discussed).pull_request_at, Some(START + 60));
    assert_eq!(facts(&board, &plain).pull_request_at, None);
    fixture.pass(3600);
    assert_eq!(facts(&board, &again).completed_at, None);
    fixture.pass(86_400);
    assert_eq!(facts(&board, &discussed).pull_request_at, None);
}

#[test]
fn an_expired_claim_on_a_ready_card_can_be_replaced() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &NewTask::titled("x"));
    let at = START + 10;
    fixture.run_sql(&format!(
        "UPDATE tasks SET claim_lock = 'gone:1', claim_expires = {at}"
    ));
    assert!(board.snapshot(LIMIT).unwrap().ready.is_empty());
    assert!(matches!(
        crate::try_claim(&mut board, &id),
        hermes_board::store::ClaimOutcome::NotClaimable { .. }
    ));
    fixture.pass(11);
    assert_eq!(board.snapshot(LIMIT).unwrap().ready.len(), 1);
    assert_eq!(
        board.assign_default(&id, &assignee("alpha")).unwrap(),
        Applied::Yes
    );
    claim(&mut board, &id);
    assert_eq!(task(&board, &id).claim_lock.as_deref(), Some("host:1"));
}
