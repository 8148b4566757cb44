//! A whole look: who gets a worker, what a dry run leaves alone, who may look at all.

use hermes_board::boards::TickLock;
use hermes_board::model::{Status, TaskId};
use hermes_board::store::NewTask;
use pretty_assertions::assert_eq;

use super::{Yard, files_below, ids, started};
use crate::{assignee, events, file, status, task};

fn unassigned(yard: &Yard, store: &mut hermes_board::SqliteBoard) -> TaskId {
    let id = file(store, &NewTask::titled("nobody's"));
    yard.script(&id, "exec sleep 300");
    id
}

#[test]
fn without_a_default_a_card_of_nobody_is_untouched() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = unassigned(&yard, &mut store);
    let before = (task(&store, &id), events(&store, &id));
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.skipped_unassigned), [id.as_str()]);
    assert_eq!((task(&store, &id), events(&store, &id)), before);
}

#[test]
fn a_default_assignee_is_written_down_with_its_source_and_works_at_once() {
    let mut yard = Yard::new();
    yard.dispatcher.limits.default_assignee = Some(assignee("alpha"));
    let mut store = yard.open();
    let id = unassigned(&yard, &mut store);
    let planned = yard.preview(&store).report;
    assert_eq!(ids(&planned.auto_assigned_default), [id.as_str()]);
    assert_eq!(started(&planned), [id.as_str()]);
    assert_eq!(task(&store, &id).assignee, None);
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.auto_assigned_default), [id.as_str()]);
    assert_eq!(started(&report), [id.as_str()]);
    assert_eq!(task(&store, &id).assignee.as_deref(), Some("alpha"));
    let assigned = r#"assigned {"assignee":"alpha","source":"kanban.default_assignee"}"#;
    let told = events(&store, &id);
    assert!(told.iter().any(|event| event == assigned), "{told:?}");
}

#[test]
fn a_profile_takes_what_it_may_and_the_rest_comes_later() {
    let mut yard = Yard::new();
    yard.dispatcher.limits.max_in_progress_per_profile = Some(2);
    let mut store = yard.open();
    let mut cards = Vec::new();
    for (profile, count) in [("alpha", 5), ("beta", 3)] {
        for _ in 0..count {
            let new = NewTask {
                assignee: Some(assignee(profile)),
                ..NewTask::titled(profile)
            };
            cards.push(yard.file_with(&mut store, "exec sleep 300", new));
        }
    }
    let report = yard.tick(&mut store);
    assert_eq!(report.spawned.len(), 4);
    let deferred = |profile: &str| {
        let rows = report.skipped_per_profile_capped.iter();
        rows.filter(|row| row.assignee == profile && row.current == 2)
            .count()
    };
    assert_eq!((deferred("alpha"), deferred("beta")), (3, 1));
    assert_eq!(yard.tick(&mut store).spawned.len(), 0);
    for started in &report.spawned {
        crate::complete(&mut store, &started.task_id);
    }
    let report = yard.tick(&mut store);
    assert_eq!(report.spawned.len(), 3);
    assert_eq!(report.skipped_per_profile_capped.len(), 1);
}

#[test]
fn a_lane_that_is_no_profile_leaves_no_trace() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let new = NewTask {
        assignee: Some(assignee("orion-cc")),
        ..NewTask::titled("lane")
    };
    let id = file(&mut store, &new);
    let before = events(&store, &id);
    for _ in 0..3 {
        let report = yard.tick(&mut store);
        assert_eq!(ids(&report.skipped_nonspawnable), [id.as_str()]);
    }
    assert_eq!(events(&store, &id), before);
    assert_eq!(store.runs(&id, None).unwrap(), []);
}

#[test]
fn a_dry_run_changes_no_byte_and_says_what_will_be() {
    let mut yard = Yard::new();
    yard.dispatcher.limits.max_spawn = Some(3);
    let mut store = yard.open();
    // One that crashed, one over its time, one that waits for nothing any more, and two to start.
    let crashed = yard.file(&mut store, "exit 3");
    let late = yard.file_with(
        &mut store,
        "exec sleep 300",
        NewTask {
            max_runtime_seconds: Some(1),
            ..NewTask::titled("late")
        },
    );
    yard.tick(&mut store);
    let worker = yard.worker_of(&late);
    let gone = yard.worker_of(&crashed);
    super::eventually("one crashes", || !super::lives(gone));
    for _ in 0..3 {
        yard.file(&mut store, "exec sleep 300");
    }
    super::eventually("one is over its time", || {
        !yard.preview(&store).report.timed_out.is_empty()
    });
    drop(store);
    let mut store = yard.open();
    let root = yard.fixture.dir.path().to_owned();
    let before = files_below(&root);
    let planned = yard.preview(&store).report;
    assert_eq!(files_below(&root), before);
    assert!(super::lives(worker));
    assert_eq!(status(&store, &late), Status::Running);
    assert_eq!(ids(&planned.crashed), [crashed.as_str()]);
    assert_eq!(ids(&planned.timed_out), [late.as_str()]);

    let mut done = yard.tick(&mut store);
    for started in &mut done.spawned {
        started.workspace.clear();
    }
    assert_eq!(done, planned);
}

#[test]
fn only_one_at_a_time_looks_at_a_board() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(&mut store, "exec sleep 300");
    let board = yard.fixture.board();
    let TickLock::Held(lock) = TickLock::take(&board) else {
        panic!("the lock is free");
    };
    let report = yard.tick(&mut store);
    assert!(report.skipped_locked && report.spawned.is_empty());
    assert_eq!(status(&store, &id), Status::Ready);
    // A dry run needs no lock.
    assert_eq!(started(&yard.preview(&store).report), [id.as_str()]);
    drop(lock);
    assert_eq!(started(&yard.tick(&mut store)), [id.as_str()]);
}

#[test]
fn a_lock_that_cannot_be_made_keeps_nobody_from_working() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(&mut store, "exec sleep 300");
    std::fs::create_dir(yard.fixture.board().dispatch_lock()).unwrap();
    assert_eq!(started(&yard.tick(&mut store)), [id.as_str()]);
}
