//! Acceptance checks, run for real.

use std::time::Duration;

use hermes_board::StoredBoard;
use hermes_board::completion::{CompletionOutcome, complete};
use hermes_board::model::{CheckMark, Object, Outcome, Status, TaskId};
use hermes_board::store::{Completion, NewTask, Release};
use hermes_proc::Wake;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Yard, eventually, lives, run_of};
use crate::fixture::completion_setup;
use crate::{events, kinds, process, status, task};

fn with_checks(checks: &[&str]) -> NewTask {
    NewTask {
        checks: checks.iter().map(|check| (*check).into()).collect(),
        ..NewTask::titled("checked")
    }
}

fn finish(yard: &Yard, store: &mut StoredBoard, id: &TaskId, limit: Duration) -> CompletionOutcome {
    let board = yard.fixture.board();
    let interrupt = Wake::new().unwrap();
    let setup = completion_setup(
        &yard.fixture.home,
        &yard.dispatcher.workers,
        &board,
        limit,
        &interrupt,
    );
    let completion = Completion {
        expected_run: task(store, id).current_run_id,
        summary: Some("all done".to_owned()),
        ..Completion::default()
    };
    complete(store, id, &completion, &setup).unwrap()
}

const LONG: Duration = Duration::from_mins(1);

#[test]
fn only_if_every_check_passes_is_a_card_done() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let checks = ["test -e result", "env > seen; test \"$(pwd)\" = \"$PWD\""];
    let id = yard.file_with(&mut store, "exec sleep 300", with_checks(&checks));
    yard.tick(&mut store);
    yard.worker_of(&id);
    let workspace = yard.fixture.path("kanban/workspaces").join(id.as_str());
    std::fs::write(workspace.join("result"), "").unwrap();
    let run = run_of(&store, &id);
    let CompletionOutcome::Done {
        completed, checks, ..
    } = finish(&yard, &mut store, &id, LONG)
    else {
        panic!("not done");
    };
    assert_eq!((completed.run, checks), (Some(run), 2));
    assert_eq!(status(&store, &id), Status::Done);
    assert_eq!(store.check_mark(&id).unwrap(), CheckMark::Checked);
    assert!(
        kinds(&store, &id)
            .iter()
            .any(|kind| kind == "checks_passed")
    );
}

#[test]
fn a_check_sees_what_a_script_of_the_user_sees() {
    let yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file_with(&mut store, "", with_checks(&["env; false"]));
    let CompletionOutcome::CheckFailed { evidence, .. } = finish(&yard, &mut store, &id, LONG)
    else {
        panic!("it failed");
    };
    assert!(evidence.output.contains("PATH="), "{}", evidence.output);
    // Without what lets its holder act in the user's name.
    assert!(
        !evidence.output.contains("OPENAI_API_KEY"),
        "{}",
        evidence.output
    );
}

#[test]
fn the_first_failed_check_is_recorded_and_fails_the_attempt() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let checks = [
        "true",
        "echo the password is hunter2; exit 7",
        "touch ran-on",
    ];
    let id = yard.file_with(&mut store, "exec sleep 300", with_checks(&checks));
    yard.tick(&mut store);
    yard.worker_of(&id);
    let CompletionOutcome::CheckFailed { evidence, release } = finish(&yard, &mut store, &id, LONG)
    else {
        panic!("it failed");
    };
    assert_eq!((evidence.position, evidence.exit_code), (2, Some(7)));
    assert_eq!(evidence.output, "the password is [secret]\n");
    assert_eq!(release, Release::Requeued { failures: 1 });
    assert_eq!(status(&store, &id), Status::Ready);
    let runs = store.runs(&id, None).unwrap();
    assert_eq!(runs[0].ended_how(), Some(Outcome::CheckFailed));
    let told = events(&store, &id);
    let failed = told.iter().find(|event| event.starts_with("check_failed"));
    assert!(failed.unwrap().contains("\"exit_code\":7"), "{told:?}");
    let comments = store.comments(&id).unwrap();
    assert!(comments[0].body.contains("exit code 7"), "{comments:?}");
    let workspace = yard.fixture.path("kanban/workspaces").join(id.as_str());
    assert!(!workspace.join("ran-on").exists());

    // Again, and the breaker decides.
    yard.dispatcher.limits.crash_grace_seconds = 0;
    yard.tick(&mut store);
    let CompletionOutcome::CheckFailed { release, .. } = finish(&yard, &mut store, &id, LONG)
    else {
        panic!("it failed");
    };
    assert!(matches!(
        release,
        Release::Blocked {
            failures: 2,
            limit: 2
        }
    ));
    assert_eq!(status(&store, &id), Status::Blocked);
}

#[test]
fn a_check_over_its_time_limit_is_terminated_with_its_children() {
    let yard = Yard::new();
    let mut store = yard.open();
    let check = "setsid sh -c 'echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 300' &
        while ! test -e pid; do sleep 0.01; done; echo waiting; sleep 300";
    let id = yard.file_with(&mut store, "", with_checks(&[check]));
    let short = Duration::from_secs(2);
    let CompletionOutcome::CheckFailed { evidence, .. } = finish(&yard, &mut store, &id, short)
    else {
        panic!("it failed");
    };
    assert!(evidence.timed_out);
    assert_eq!(evidence.exit_code, None);
    assert_eq!(evidence.output, "waiting\n");
    let workspace = yard.fixture.path("kanban/workspaces").join(id.as_str());
    let pid = std::fs::read_to_string(workspace.join("pid")).unwrap();
    assert!(!lives(pid.trim().parse().unwrap()));
}

#[test]
fn an_unclaimed_card_is_checked_too() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file_with(&mut store, "", with_checks(&["true"]));
    assert!(matches!(
        finish(&yard, &mut store, &id, LONG),
        CompletionOutcome::Done { checks: 1, .. }
    ));
    let card = task(&store, &id);
    assert_eq!((card.status(), card.claim_lock), (Status::Done, None));
    assert!(yard.tick(&mut store).spawned.is_empty());
}

#[test]
fn deliverables_are_copied_only_after_the_checks_passed() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file_with(
        &mut store,
        "exec sleep 300",
        with_checks(&["test -e finished", "test -s report.txt"]),
    );
    yard.tick(&mut store);
    yard.worker_of(&id);
    let workspace = yard.fixture.path("kanban/workspaces").join(id.as_str());
    std::fs::write(workspace.join("report.txt"), "all is well").unwrap();
    let board = yard.fixture.board();
    let mut metadata = Object::new();
    metadata.insert("artifacts".to_owned(), json!(["report.txt"]));
    let completion = |store: &StoredBoard| Completion {
        expected_run: task(store, &id).current_run_id,
        metadata: Some(metadata.clone()),
        ..Completion::default()
    };
    let interrupt = Wake::new().unwrap();
    let setup = completion_setup(
        &yard.fixture.home,
        &yard.dispatcher.workers,
        &board,
        LONG,
        &interrupt,
    );
    let first = completion(&store);
    let finish = complete(&mut store, &id, &first, &setup).unwrap();
    assert!(
        matches!(finish, CompletionOutcome::CheckFailed { .. }),
        "{finish:?}"
    );
    assert_eq!(store.attachments(&id).unwrap(), []);
    assert!(workspace.join("report.txt").exists());

    std::fs::write(workspace.join("finished"), "").unwrap();
    let second = completion(&store);
    let finish = complete(&mut store, &id, &second, &setup).unwrap();
    assert!(
        matches!(finish, CompletionOutcome::Done { checks: 2, .. }),
        "{finish:?}"
    );
    let kept = store.attachments(&id).unwrap();
    assert_eq!(kept[0].filename, "report.txt");
    assert_eq!(std::fs::read(&kept[0].stored_path).unwrap(), b"all is well");
    assert!(!workspace.exists());
}

#[test]
fn a_stale_worker_completes_nothing_and_runs_no_check() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file_with(&mut store, "exec sleep 300", with_checks(&["touch ran"]));
    yard.tick(&mut store);
    yard.worker_of(&id);
    let stale = Completion {
        expected_run: task(&store, &id).current_run_id,
        ..Completion::default()
    };
    yard.dispatcher.reclaim(&mut store, &id, None).unwrap();
    let board = yard.fixture.board();
    let interrupt = Wake::new().unwrap();
    let setup = completion_setup(
        &yard.fixture.home,
        &yard.dispatcher.workers,
        &board,
        LONG,
        &interrupt,
    );
    let refused = complete(&mut store, &id, &stale, &setup);
    assert!(refused.is_err(), "{refused:?}");
    let workspace = yard.fixture.path("kanban/workspaces").join(id.as_str());
    assert!(!workspace.join("ran").exists());
    assert_eq!(status(&store, &id), Status::Ready);
}

#[test]
fn the_next_completion_terminates_leftovers_of_a_killed_one() {
    let yard = Yard::new();
    let mut store = yard.open();
    // The first time it takes for ever, and not in the shell itself.
    let check = "test -e again || { touch again
        sh -c 'echo $$ > left.tmp; mv left.tmp left; exec sleep 300' & wait; }";
    let id = yard.file_with(&mut store, "", with_checks(&[check]));
    let mut checker = process("complete-only-card", yard.fixture.dir.path())
        .spawn()
        .unwrap();
    let workspace = yard.fixture.path("kanban/workspaces").join(id.as_str());
    let left = || {
        let text = std::fs::read_to_string(workspace.join("left")).ok()?;
        text.trim().parse::<u32>().ok()
    };
    eventually("the check runs", || left().is_some());
    checker.kill().unwrap();
    checker.wait().unwrap();
    let left = left().unwrap();
    assert!(lives(left));
    assert_eq!(status(&store, &id), Status::Running);
    assert!(matches!(
        finish(&yard, &mut store, &id, LONG),
        CompletionOutcome::Done { checks: 1, .. }
    ));
    assert!(!lives(left));
}
