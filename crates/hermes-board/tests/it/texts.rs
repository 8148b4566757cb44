//! What is made for reading: the context of a worker, and signs of distress.

use hermes_board::diagnostics::{
    DiagnosticKind, Severity, Thresholds, TriageModels, diagnose_board,
};
use hermes_board::model::{Obstacle, Status, TaskId, Termination, WorkerExit};
use hermes_board::plan::{Facts, Limits, Plan, plan};
use hermes_board::store::{BlockRequest, BoardStore, Completion, FailurePolicy, NewTask, StartIn};
use hermes_board::{ContextOptions, StoredBoard, worker_context};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Fixture, below, card, claim, complete, exited, file};

fn context(board: &StoredBoard, id: &TaskId) -> String {
    let options = ContextOptions {
        zone: jiff::tz::TimeZone::UTC,
        ..ContextOptions::default()
    };
    worker_context(board, id, &options).unwrap()
}

#[test]
fn the_context_of_a_card_with_everything() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let parent = file(&mut board, &card("parent"));
    let other = file(
        &mut board,
        &NewTask {
            assignee: Some(crate::assignee("writer")),
            ..card("elsewhere")
        },
    );
    let id = file(
        &mut board,
        &NewTask {
            body: Some("  Do the thing.  ".to_owned()),
            tenant: Some("acme".to_owned()),
            max_runtime_seconds: Some(600),
            checks: vec!["cargo test".into()],
            ..below(&[&parent, &other])
        },
    );
    let mut metadata = hermes_board::model::Object::new();
    metadata.insert("z".to_owned(), json!(1));
    metadata.insert("a".to_owned(), json!({"d": 1, "c": 2}));
    board
        .complete(
            &parent,
            &Completion {
                summary: Some("first line\nsecond line".to_owned()),
                metadata: Some(metadata),
                ..Completion::default()
            },
        )
        .unwrap();
    board
        .complete(
            &other,
            &Completion {
                result: Some("short".to_owned()),
                ..Completion::default()
            },
        )
        .unwrap();
    board.archive(&other).unwrap();
    fixture.pass(7200);
    let run = claim(&mut board, &id);
    board
        .record_spawn_failure(&id, run, "no such file", &FailurePolicy::with_limit(9))
        .map(drop)
        .unwrap();
    board.add_comment(&id, "sys`tem`", "please hurry").unwrap();
    fixture.pass(60);
    let text = context(&board, &id);
    assert_eq!(
        text,
        format!(
            "# Kanban task {id}: child\n\
             \n\
             Assignee: coder\n\
             Status:   ready\n\
             Tenant:   acme\n\
             Workspace: scratch @ (unresolved)\n\
             Max runtime: 600s\n\
             Terminal timeout: 570s\n\
             \n\
             ## Body\n\
             Do the thing.\n\
             \n\
             ## Acceptance checks\n\
             When the card is completed, these commands are run in the workspace, in this order. \
             The card is done only if all of them pass:\n\
             1. `cargo test`\n\
             \n\
             ## Prior attempts on this task\n\
             ### Attempt 1 — spawn_failed (coder, 2023-11-15 00:13, 1m ago)\n\
             _error_: no such file\n\
             _metadata_: `{{\"failures\":1}}`\n\
             \n\
             ## Parent task results\n\
             _Results of the parent cards as of their completion. They are not kept up to date: \
             verify what matters before relying on it._\n\
             ### {parent} (completed 2h ago)\n\
             first line\nsecond line\n\
             _metadata_: `{{\"a\":{{\"c\":2,\"d\":1}},\"z\":1}}`\n\
             \n\
             ### {other} (completed 2h ago)\n\
             short\n\
             \n\
             ## Recent work by @coder\n\
             - {parent} — parent (2023-11-14 22:13, 2h ago): first line\n\
             \n\
             ## Comment thread\n\
             comment from worker `system` at 2023-11-15 00:13, 1m ago:\n\
             please hurry\n"
        )
    );
}

#[test]
fn the_context_is_bounded() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(
        &mut board,
        &NewTask {
            body: Some("ä".repeat(20_000)),
            ..card("busy")
        },
    );
    for number in 0..40 {
        board
            .add_comment(&id, "me", &format!("comment {number} {}", "x".repeat(3000)))
            .unwrap();
    }
    for _ in 0..15 {
        let run = claim(&mut board, &id);
        board
            .record_spawn_failure(&id, run, "failed", &FailurePolicy::with_limit(99))
            .map(drop)
            .unwrap();
    }
    let text = context(&board, &id);
    let body = text
        .split("## Body\n")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    assert_eq!(
        body,
        format!("{}… [truncated, 11808 chars omitted]", "ä".repeat(8192))
    );
    assert_eq!(text.matches("comment from worker").count(), 30);
    assert!(text.contains("_(10 earlier comments omitted; showing most recent 30)_"));
    assert!(!text.contains("comment 9 ") && text.contains("comment 10 "));
    assert!(text.contains("… [truncated, 963 chars omitted]"));
    assert_eq!(text.matches("### Attempt").count(), 10);
    assert!(text.contains("_(5 earlier attempts omitted; showing most recent 10)_"));
    assert!(text.contains("### Attempt 6 ") && text.contains("### Attempt 15 "));
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
    assert!(worker_context(&board, &"t_none".into(), &ContextOptions::default()).is_err());
}

#[test]
fn a_plain_card_has_a_plain_context() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &NewTask::titled("plain"));
    assert_eq!(
        context(&board, &id),
        format!(
            "# Kanban task {id}: plain\n\nAssignee: (unassigned)\nStatus:   ready\nWorkspace: \
             scratch @ (unresolved)\n"
        )
    );
}

fn facts() -> Facts {
    Facts {
        profiles: ["coder", "default"].map(str::to_owned).into(),
        ..Facts::default()
    }
}

/// What a dispatcher would do that may start one worker per profile.
fn planned(board: &StoredBoard) -> Plan {
    let facts = facts();
    let limits = Limits {
        max_in_progress_per_profile: Some(1),
        ..Limits::default()
    };
    plan(&board.snapshot(2).unwrap(), &facts, &limits)
}

fn found(
    board: &StoredBoard,
    id: &TaskId,
    thresholds: &Thresholds,
) -> Vec<(DiagnosticKind, Severity)> {
    diagnose_board(board, Some(id), thresholds, &planned(board))
        .unwrap()
        .into_iter()
        .flat_map(|card| card.diagnostics)
        .map(|diagnostic| (diagnostic.kind, diagnostic.severity))
        .collect()
}

fn crash(board: &mut StoredBoard, id: &TaskId, exit: WorkerExit) {
    let run = claim(board, id);
    let _applied = board.record_spawned(id, run, 5, None).unwrap();
    let snapshot = board.snapshot(9).unwrap();
    let seen = &snapshot.running_run(run).unwrap().claim;
    let _release = board
        .end_attempt(
            id,
            seen,
            &exited(exit, FailurePolicy::with_limit(9)),
            Termination::default(),
        )
        .unwrap();
}

#[test]
fn failures_and_crashes_show_and_go_away() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let usual = Thresholds::default();
    let id = file(&mut board, &card("x"));
    assert_eq!(found(&board, &id, &usual), []);
    crash(&mut board, &id, WorkerExit::Code(1));
    assert_eq!(found(&board, &id, &usual), []);
    crash(&mut board, &id, WorkerExit::Code(1));
    assert_eq!(
        found(&board, &id, &usual),
        [(DiagnosticKind::RepeatedFailures, Severity::Error)]
    );
    crash(&mut board, &id, WorkerExit::Code(1));
    crash(&mut board, &id, WorkerExit::Code(1));
    assert_eq!(
        found(&board, &id, &usual),
        [(DiagnosticKind::RepeatedFailures, Severity::Critical)]
    );
    let tolerant = Thresholds {
        failure_threshold: 9,
        ..Thresholds::default()
    };
    assert_eq!(
        found(&board, &id, &tolerant),
        [(DiagnosticKind::RepeatedCrashes, Severity::Critical)]
    );
    let report = diagnose_board(&board, None, &usual, &planned(&board)).unwrap();
    assert_eq!(report.len(), 1);
    let card = serde_json::to_value(&report[0]).unwrap();
    assert_eq!(card["task_id"], id.as_str());
    assert_eq!(card["diagnostics"][0]["kind"], "repeated_failures");
    assert_eq!(
        card["diagnostics"][0]["actions"][0]["payload"]["command"],
        format!("hermes kanban log {id}")
    );
    claim(&mut board, &id);
    assert_eq!(found(&board, &id, &usual), []);
    complete(&mut board, &id);
    assert_eq!(found(&board, &id, &usual), []);
    assert!(
        diagnose_board(&board, None, &usual, &planned(&board))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn stranded_and_stuck_cards_are_diagnosed() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let usual = Thresholds::default();
    let ready = file(&mut board, &card("ready"));
    let nobody = file(&mut board, &NewTask::titled("nobody"));
    let blocked = file(
        &mut board,
        &NewTask {
            start: StartIn::Blocked,
            ..card("blocked")
        },
    );
    let triage = file(
        &mut board,
        &NewTask {
            start: StartIn::Triage,
            ..card("triage")
        },
    );
    fixture.pass(1800);
    assert_eq!(
        found(&board, &ready, &usual),
        [(DiagnosticKind::StrandedInReady, Severity::Warning)]
    );
    fixture.pass(1800);
    assert_eq!(
        found(&board, &ready, &usual),
        [(DiagnosticKind::StrandedInReady, Severity::Error)]
    );
    fixture.pass(82_800);
    assert_eq!(
        found(&board, &ready, &usual),
        [(DiagnosticKind::StrandedInReady, Severity::Critical)]
    );
    assert_eq!(
        found(&board, &nobody, &usual),
        [(DiagnosticKind::UnassignedInReady, Severity::Critical)]
    );
    assert_eq!(
        found(&board, &blocked, &usual),
        [(DiagnosticKind::StuckInBlocked, Severity::Warning)]
    );
    board.add_comment(&blocked, "me", "on it").unwrap();
    assert_eq!(found(&board, &blocked, &usual), []);
    assert_eq!(found(&board, &triage, &usual), []);
    let mut models = TriageModels {
        auto_decompose: false,
        decomposer: true,
        specifier: false,
        main_model: false,
    };
    let with = |models| Thresholds {
        triage: Some(models),
        ..Thresholds::default()
    };
    assert_eq!(
        found(&board, &triage, &with(models)),
        [(DiagnosticKind::TriageAuxUnavailable, Severity::Warning)]
    );
    models.main_model = true;
    assert_eq!(found(&board, &triage, &with(models)), []);
    // The worst card first.
    let order: Vec<TaskId> = diagnose_board(&board, None, &usual, &planned(&board))
        .unwrap()
        .into_iter()
        .map(|card| card.task_id)
        .collect();
    let mut expected = vec![ready, nobody];
    expected.sort();
    assert_eq!(order, expected);
}

#[test]
fn diagnostics_agree_with_the_plan_of_a_dispatcher() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let usual = Thresholds::default();
    let busy = file(&mut board, &card("busy"));
    let waiting = file(&mut board, &card("waiting"));
    let nobody = file(&mut board, &NewTask::titled("nobody"));
    // It is named at once: it waits in vain.
    assert_eq!(
        found(&board, &nobody, &usual),
        [(DiagnosticKind::UnassignedInReady, Severity::Warning)]
    );
    claim(&mut board, &busy);
    fixture.pass(86_400);
    // Its profile is at its limit.
    assert_eq!(found(&board, &waiting, &usual), []);
    let lane = NewTask {
        assignee: Some(crate::assignee("some-lane")),
        ..NewTask::titled("lane")
    };
    let lane = file(&mut board, &lane);
    fixture.pass(1800);
    assert_eq!(
        found(&board, &lane, &usual),
        [(DiagnosticKind::StrandedInReady, Severity::Warning)]
    );
    let obstacle = Obstacle {
        problem: "no key is set".into(),
        hint: Some("set one".into()),
        holds: true,
    };
    let mut facts = facts();
    facts.obstacles.insert(waiting.clone(), obstacle);
    let plan = plan(&board.snapshot(2).unwrap(), &facts, &Limits::default());
    let report = diagnose_board(&board, Some(&waiting), &usual, &plan).unwrap();
    let found = &report[0].diagnostics;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind, DiagnosticKind::CannotStart);
    assert_eq!(found[0].title, "coder cannot run: no key is set");
    assert_eq!(found[0].actions[0].label, "set one");
}

#[test]
fn phantom_cards_are_diagnosed_until_the_next_completion() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let usual = Thresholds::default();
    let id = file(&mut board, &card("x"));
    let lie = Completion {
        created_cards: vec!["t_deadbeef".into()],
        ..Completion::default()
    };
    board.complete(&id, &lie).unwrap_err();
    assert_eq!(
        found(&board, &id, &usual),
        [(DiagnosticKind::HallucinatedCards, Severity::Error)]
    );
    let vague = Completion {
        summary: Some("see t_deadbeef".to_owned()),
        ..Completion::default()
    };
    board.complete(&id, &vague).unwrap();
    assert_eq!(
        found(&board, &id, &usual),
        [(DiagnosticKind::ProsePhantomRefs, Severity::Warning)]
    );
    let edit = hermes_board::ResultEdit {
        result: "better".to_owned(),
        summary: None,
        metadata: None,
    };
    board.edit_result(&id, &edit).unwrap();
    assert_eq!(found(&board, &id, &usual), []);
}

#[test]
fn block_unblock_cycles_are_diagnosed() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let kinds = [
        hermes_board::model::BlockKind::NeedsInput,
        hermes_board::model::BlockKind::Capability,
    ];
    for round in 0..4 {
        board
            .block(&BlockRequest {
                task: id.clone(),
                reason: None,
                kind: kinds.get(round % 2).copied(),
                expected_run: None,
            })
            .unwrap();
        assert_eq!(board.unblock(&id).unwrap(), Status::Ready);
    }
    let report = diagnose_board(&board, None, &Thresholds::default(), &planned(&board)).unwrap();
    let found = &report[0].diagnostics;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, DiagnosticKind::BlockUnblockCycling);
    assert_eq!(found[0].count, 3);
    fixture.pass(86_401);
    let patient = Thresholds {
        stranded_threshold_seconds: i64::MAX,
        ..Thresholds::default()
    };
    assert_eq!(self::found(&board, &id, &patient), []);
}
