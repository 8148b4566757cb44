//! A whole look: what a dry run leaves alone, who may look at all.

use hermes_board::boards::TickLock;
use hermes_board::model::{Status, TaskId};
use hermes_board::store::NewTask;
use hermes_board::{Error, StoredBoard};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Yard, files_below, ids, started};
use crate::{assignee, events, file, status};

#[test]
fn a_card_of_a_lane_is_left_unchanged() {
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
fn a_dry_run_changes_no_byte_and_predicts_the_tick() {
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
fn one_dispatcher_at_a_time_ticks_a_board() {
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
fn a_lock_that_cannot_be_created_does_not_stop_dispatching() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(&mut store, "exec sleep 300");
    std::fs::create_dir(yard.fixture.board().dispatch_lock()).unwrap();
    assert_eq!(started(&yard.tick(&mut store)), [id.as_str()]);
}

#[test]
fn the_report_has_the_keys_of_the_reference_and_ours() {
    let mut yard = Yard::new();
    yard.configure("kanban: {max_in_progress_per_profile: 1, default_assignee: beta}");
    let mut store = yard.open();
    let first = yard.file(&mut store, "exec sleep 300");
    let second = yard.file(&mut store, "exec sleep 300");
    let nobody = file(&mut store, &NewTask::titled("nobody's"));
    let report = serde_json::to_value(yard.dry_run(&mut store)).unwrap();
    let expected = json!({
        "reclaimed": 0,
        "crashed": [],
        "timed_out": [],
        "stale": [],
        "auto_blocked": [],
        "promoted": 0,
        "spawned": [
            {"task_id": first, "assignee": "alpha", "workspace": ""},
            {"task_id": nobody, "assignee": "beta", "workspace": ""},
        ],
        "skipped_unassigned": [],
        "skipped_nonspawnable": [],
        "skipped_per_profile_capped": [
            {"task_id": second, "assignee": "alpha", "current": 1},
        ],
        "cannot_start": [],
        "delayed": [],
        "auto_assigned_default": [nobody],
        "rate_limited": [],
        "respawn_guarded": [],
        "spawn_failed": [],
        "skipped_locked": false,
        "skipped_capped": [],
        "skipped_scheduled": [],
        "woken": [],
        "sent_back": [],
        "adopted": [],
        "extended": [],
        "reclaim_deferred": [],
        "lost_race": [],
    });
    assert_eq!(report, expected);
}

#[test]
fn why_explains_every_card() {
    let mut yard = Yard::new();
    yard.configure("kanban: {max_in_progress: 1}");
    let mut store = yard.open();
    let first = yard.file(&mut store, "exec sleep 300");
    let second = yard.file(&mut store, "exec sleep 300");
    let child = file(&mut store, &crate::below(&[&first]));
    let mut why = |store: &StoredBoard, id: &TaskId| {
        let verdicts = yard.dispatcher.why(store, id).unwrap();
        let verdicts = verdicts.iter().map(|one| one.sentence(|at| at.to_string()));
        verdicts.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(why(&store, &first), "A worker starts for alpha.");
    assert_eq!(
        why(&store, &second),
        "The limit is reached: 1 in progress, kanban.max_in_progress is 1."
    );
    assert_eq!(why(&store, &child), format!("It waits for {first}."));
    crate::complete(&mut store, &second);
    assert!(!why(&store, &second).is_empty());
    let nobody = TaskId::from_bits(0xdead);
    assert!(matches!(
        yard.dispatcher.why(&store, &nobody),
        Err(Error::UnknownTask { .. })
    ));
}

#[test]
fn what_is_said_of_one_card_is_what_the_whole_plan_says() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let first = yard.file(&mut store, "exec sleep 300");
    let second = yard.file(&mut store, "exec sleep 300");
    let child = file(&mut store, &crate::below(&[&first]));
    let nobody = file(&mut store, &crate::card("for nobody"));
    for id in [&first, &second, &child, &nobody] {
        let whole = yard.dispatcher.preview(&store).unwrap();
        let own = yard.dispatcher.preview_card(&store, id).unwrap();
        assert_eq!(own.why(id), whole.why(id), "{id}");
    }
    // The others that wait are not looked at.
    let own = yard.dispatcher.preview_card(&store, &second).unwrap();
    assert_eq!(own.why(&first), []);
    assert_eq!(own.why(&second).len(), 1);
}

#[test]
fn a_host_is_registered_once_and_an_idle_board_is_not_written_to_after_that() {
    let mut yard = Yard::new();
    let (mut store, other) = (yard.open(), yard.open());
    yard.tick(&mut store);
    let hosts = other.hosts().unwrap();
    assert_eq!(hosts.len(), 1);
    assert_eq!(hosts[0].host.id.len(), 16);
    let before = other.data_version().unwrap();
    yard.tick(&mut store);
    assert_eq!(other.data_version().unwrap(), before);
    // A setting that changes is told at once.
    yard.dispatcher.host_settings.labels = vec!["gpu".to_owned()];
    yard.tick(&mut store);
    assert_eq!(other.hosts().unwrap()[0].host.labels, ["gpu"]);
}
