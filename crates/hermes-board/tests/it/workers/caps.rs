//! Limits on cards in progress: for all of them, and for each profile.

use hermes_board::StoredBoard;
use hermes_board::model::TaskId;
use hermes_board::plan::Report;
use hermes_board::store::NewTask;
use pretty_assertions::assert_eq;

use super::{Yard, files_below, ids, started};
use crate::{assignee, complete, file, task};

fn yard(yaml: &str) -> Yard {
    let mut yard = Yard::new();
    yard.configure(yaml);
    yard
}

/// So many cards for a profile.
fn cards(yard: &Yard, store: &mut StoredBoard, profile: &str, count: usize) -> Vec<TaskId> {
    let new = || NewTask {
        assignee: Some(assignee(profile)),
        ..NewTask::titled(profile)
    };
    (0..count)
        .map(|_| yard.file_with(store, "exec sleep 300", new()))
        .collect()
}

/// How many were started for a profile, and how many wait for it while it works on so many.
fn of(report: &Report, profile: &str, current: usize) -> (usize, usize) {
    let spawned = report.spawned.iter();
    let capped = report.skipped_per_profile_capped.iter();
    (
        spawned.filter(|row| row.assignee == profile).count(),
        capped
            .filter(|row| row.assignee == profile && row.current == current)
            .count(),
    )
}

#[test]
fn the_limit_per_profile_defers_the_rest() {
    let mut yard = yard("kanban: {max_in_progress_per_profile: 2}");
    let mut store = yard.open();
    cards(&yard, &mut store, "alpha", 5);
    cards(&yard, &mut store, "beta", 3);
    let planned = yard.dry_run(&mut store);
    let mut report = yard.tick(&mut store);
    assert_eq!(of(&report, "alpha", 2), (2, 3));
    assert_eq!(of(&report, "beta", 2), (2, 1));
    assert_eq!(report.skipped_per_profile_capped.len(), 4);
    for row in &mut report.spawned {
        row.workspace.clear();
    }
    assert_eq!(planned, report);
}

#[test]
fn running_cards_count_against_the_limit() {
    let mut yard = yard("kanban: {max_in_progress_per_profile: 2}");
    let mut store = yard.open();
    cards(&yard, &mut store, "alpha", 1);
    yard.tick(&mut store);
    cards(&yard, &mut store, "alpha", 4);
    cards(&yard, &mut store, "beta", 5);
    let report = yard.tick(&mut store);
    assert_eq!(of(&report, "alpha", 2), (1, 3));
    assert_eq!(of(&report, "beta", 2), (2, 3));
}

#[test]
fn deferred_cards_start_when_there_is_capacity() {
    let mut yard = yard("kanban: {max_in_progress_per_profile: 2}");
    let mut store = yard.open();
    cards(&yard, &mut store, "alpha", 5);
    let report = yard.tick(&mut store);
    assert_eq!(yard.tick(&mut store).spawned, []);
    for row in &report.spawned {
        complete(&mut store, &row.task_id);
    }
    let report = yard.tick(&mut store);
    assert_eq!(of(&report, "alpha", 2), (2, 1));
}

#[test]
fn an_invalid_limit_is_ignored() {
    for bad in ["0", "-1", "abc", "null"] {
        let mut yard = yard(&format!("kanban: {{max_in_progress_per_profile: {bad}}}"));
        let mut store = yard.open();
        cards(&yard, &mut store, "alpha", 5);
        cards(&yard, &mut store, "beta", 5);
        let report = yard.tick(&mut store);
        assert_eq!(of(&report, "alpha", 0), (5, 0), "{bad}");
        assert_eq!(of(&report, "beta", 0), (5, 0), "{bad}");
        assert_eq!(report.skipped_per_profile_capped, [], "{bad}");
    }
}

#[test]
fn a_dry_run_with_a_cap_starts_one_and_changes_no_byte() {
    let mut yard = yard("");
    yard.dispatcher.limits.max_spawn = Some(1);
    let mut store = yard.open();
    let filed = cards(&yard, &mut store, "alpha", 5);
    drop(store);
    let mut store = yard.open();
    let before = files_below(yard.fixture.dir.path());
    let report = yard.dry_run(&mut store);
    assert_eq!(started(&report), [filed[0].as_str()]);
    // The others are told apart all the same.
    let capped: Vec<&TaskId> = report
        .skipped_capped
        .iter()
        .map(|row| &row.task_id)
        .collect();
    assert_eq!(capped, filed[1..].iter().collect::<Vec<_>>());
    assert!(
        report
            .skipped_capped
            .iter()
            .all(|row| { (row.cap, row.limit, row.current) == ("max_spawn", 1, 1) })
    );
    assert_eq!(files_below(yard.fixture.dir.path()), before);
}

#[test]
fn two_caps_do_not_count_one_card_twice() {
    let mut yard = yard("kanban: {max_spawn: 2, max_in_progress: 2}");
    let mut store = yard.open();
    cards(&yard, &mut store, "alpha", 1);
    assert_eq!(yard.tick(&mut store).spawned.len(), 1);
    cards(&yard, &mut store, "alpha", 2);
    let report = yard.tick(&mut store);
    assert_eq!(report.spawned.len(), 1);
    assert_eq!(report.skipped_capped.len(), 1);
}

#[test]
fn reviews_count_and_get_the_review_skill() {
    let mut yard = yard("kanban: {max_in_progress: 1}");
    let mut store = yard.open();
    let reviewed = cards(&yard, &mut store, "alpha", 2);
    // Another program puts cards there.
    yard.fixture.run_sql("UPDATE tasks SET status = 'review'");
    let report = yard.tick(&mut store);
    assert_eq!(started(&report), [reviewed[0].as_str()]);
    assert_eq!(report.skipped_capped[0].task_id, reviewed[1]);
    yard.worker_of(&reviewed[0]);
    let argv = yard.said(&reviewed[0], "argv");
    assert!(argv.contains("--skills\nsdlc-review\n"), "{argv}");
}

#[test]
fn a_full_board_still_reports_each_reason() {
    let mut yard = yard("kanban: {max_in_progress: 1}");
    let mut store = yard.open();
    cards(&yard, &mut store, "alpha", 2);
    let nobody = file(&mut store, &NewTask::titled("nobody's"));
    let lane = yard.file_with(
        &mut store,
        "",
        NewTask {
            assignee: Some(assignee("orion-cc")),
            ..NewTask::titled("lane")
        },
    );
    let report = yard.tick(&mut store);
    assert_eq!((report.spawned.len(), report.skipped_capped.len()), (1, 1));
    assert_eq!(report.skipped_unassigned, [nobody]);
    assert_eq!(ids(&report.skipped_nonspawnable), [lane.as_str()]);
    assert_eq!(task(&store, &lane).status_word(), "ready");
}

/// A second board of the same home.
fn other_board(yard: &Yard) -> StoredBoard {
    let slug = hermes_board::boards::BoardSlug::parse("site").unwrap();
    let board = yard.fixture.home.board(&slug);
    std::fs::create_dir_all(board.database.parent().unwrap()).unwrap();
    StoredBoard::open(&board, &hermes_board::BoardOptions::default()).unwrap()
}

#[test]
fn the_limit_per_profile_counts_one_board_unless_told_otherwise() {
    for (scope, expected) in [("board", (2, 0)), ("home", (0, 2))] {
        let mut yard = yard(&format!(
            "kanban: {{max_in_progress_per_profile: 2, cap_scope: {scope}}}"
        ));
        let mut here = yard.open();
        let mut there = other_board(&yard);
        cards(&yard, &mut here, "alpha", 2);
        cards(&yard, &mut there, "alpha", 2);
        cards(&yard, &mut there, "beta", 1);
        assert_eq!(of(&yard.tick(&mut here), "alpha", 2), (2, 0));
        let report = yard.tick(&mut there);
        assert_eq!(of(&report, "alpha", 2), expected, "{scope}");
        assert_eq!(of(&report, "beta", 2), (1, 0), "{scope}");
        if let Some(row) = report.skipped_per_profile_capped.first() {
            let why = yard.dispatcher.why(&there, &row.task_id).unwrap();
            assert_eq!(
                why[0].sentence(|at| at.to_string()),
                "alpha is at its limit: 2 in progress on all boards, the most that \
                 kanban.max_in_progress_per_profile allows."
            );
        }
    }
}

#[test]
fn dispatchers_of_several_boards_together_keep_to_the_limit_of_a_home() {
    let yard = yard("kanban: {max_in_progress_per_profile: 2, cap_scope: home}");
    let boards: Vec<_> = ["one", "two", "three", "four"]
        .iter()
        .map(|slug| {
            let slug = hermes_board::boards::BoardSlug::parse(slug).unwrap();
            let board = yard.fixture.home.board(&slug);
            std::fs::create_dir_all(board.database.parent().unwrap()).unwrap();
            let options = hermes_board::BoardOptions::default();
            let mut store = StoredBoard::open(&board, &options).unwrap();
            cards(&yard, &mut store, "alpha", 3);
            board
        })
        .collect();
    let started: usize = std::thread::scope(|scope| {
        let ticks: Vec<_> = boards
            .iter()
            .map(|board| {
                let mut dispatcher = yard.another_dispatcher();
                scope.spawn(move || {
                    let options = hermes_board::BoardOptions::default();
                    let mut store = StoredBoard::open(board, &options).unwrap();
                    let report = dispatcher.tick(&mut store).unwrap();
                    assert!(!report.skipped_locked);
                    report.spawned.len()
                })
            })
            .collect();
        ticks.into_iter().map(|tick| tick.join().unwrap()).sum()
    });
    assert_eq!(started, 2);
}
