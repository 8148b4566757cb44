//! The loop over several boards, one of them damaged.

use std::time::{Duration, Instant};

use hermes_board::boards::{BoardSlug, MetadataChange};
use hermes_board::dispatch::{BoardLoop, TickOutcome};
use hermes_board::model::TaskId;
use hermes_board::plan::Report;
use hermes_board::store::NewTask;
use hermes_board::{BoardOptions, StoredBoard};
use pretty_assertions::assert_eq;

use super::{Yard, started};
use crate::{assignee, file};

fn rounds(yard: &Yard) -> BoardLoop {
    let dispatcher = yard.another_dispatcher();
    BoardLoop::new(dispatcher, yard.fixture.options())
}

fn board(yard: &Yard, name: &str) -> StoredBoard {
    let slug = BoardSlug::parse(name).unwrap();
    let home = &yard.fixture.home;
    home.create(&slug, &MetadataChange::default(), 1).unwrap();
    StoredBoard::open(&home.board(&slug), &BoardOptions::default()).unwrap()
}

fn card(store: &mut StoredBoard) -> TaskId {
    let new = NewTask {
        assignee: Some(assignee("alpha")),
        ..NewTask::titled("card")
    };
    file(store, &new)
}

fn reports(rounds: &mut BoardLoop, now: Instant) -> Vec<(String, Option<Report>)> {
    let rows = rounds.tick_all(now).unwrap().into_iter();
    rows.map(|row| {
        let report = match row.outcome {
            TickOutcome::Ticked(report) => Some(*report),
            TickOutcome::Failed(_) | TickOutcome::Skipped => None,
        };
        (row.slug.to_string(), report)
    })
    .collect()
}

#[test]
fn every_active_board_is_ticked_in_order() {
    let yard = Yard::new();
    let mut rounds = rounds(&yard);
    if !crate::ON_SERVER {
        assert_eq!(reports(&mut rounds, Instant::now()), []);
        assert!(!yard.fixture.path("kanban.db").exists());
    }
    let mut second = board(&yard, "second");
    let there = card(&mut second);
    let mut first = yard.open();
    let here = card(&mut first);
    for id in [&here, &there] {
        yard.script(id, "exec sleep 300");
    }
    let archived = MetadataChange {
        archived: Some(true),
        ..MetadataChange::default()
    };
    card(&mut board(&yard, "away"));
    let away = BoardSlug::parse("away").unwrap();
    yard.fixture.home.change(&away, &archived, 1).unwrap();

    let found = reports(&mut rounds, Instant::now());
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["default", "second"]);
    assert_eq!(started(found[0].1.as_ref().unwrap()), [here.as_str()]);
    assert_eq!(started(found[1].1.as_ref().unwrap()), [there.as_str()]);
    assert_eq!(rounds.dispatcher.reap(), 2);
}

#[test]
fn a_damaged_board_is_reported_once_and_skipped() {
    if crate::ON_SERVER {
        // There is no file to damage; what is wrong with servers has tests of its own.
        return;
    }
    let yard = Yard::new();
    let mut rounds = rounds(&yard);
    let mut good = board(&yard, "good");
    let id = card(&mut good);
    let broken = yard.fixture.path("kanban.db");
    std::fs::write(&broken, "no database, whatever the name says").unwrap();
    let now = Instant::now();
    let kind = |rounds: &mut BoardLoop, now| {
        let rows = rounds.tick_all(now).unwrap();
        match rows[0].outcome {
            TickOutcome::Ticked(_) => "at",
            TickOutcome::Failed(_) => "failed",
            TickOutcome::Skipped => "resting",
        }
    };
    let rows = rounds.tick_all(now).unwrap();
    assert!(matches!(rows[0].outcome, TickOutcome::Failed(_)));
    let TickOutcome::Ticked(report) = &rows[1].outcome else {
        panic!("{rows:?}");
    };
    assert_eq!(started(report), [id.as_str()]);
    assert_eq!(kind(&mut rounds, now), "resting");
    let later = now + Duration::from_mins(5);
    assert_eq!(kind(&mut rounds, later), "failed");
    assert_eq!(kind(&mut rounds, later), "resting");
    std::fs::write(&broken, "changed, and broken still").unwrap();
    assert_eq!(kind(&mut rounds, later), "failed");
    std::fs::remove_file(&broken).unwrap();
    drop(yard.open());
    assert_eq!(kind(&mut rounds, later), "at");
}

#[test]
fn vain_ticks_are_counted_and_full_boards_are_not() {
    let mut yard = Yard::new();
    yard.dispatcher.workers.program = yard.fixture.path("nothing-here");
    yard.dispatcher.limits.failure_limit = 100;
    let mut rounds = rounds(&yard);
    card(&mut yard.open());
    for _ in 0..5 {
        reports(&mut rounds, Instant::now());
        assert!(!rounds.is_stuck());
    }
    reports(&mut rounds, Instant::now());
    assert!(rounds.is_stuck());
    rounds.dispatcher.workers.program = yard.fixture.path("worker");
    reports(&mut rounds, Instant::now());
    assert!(!rounds.is_stuck());
    rounds.dispatcher.limits.max_in_progress = Some(1);
    card(&mut yard.open());
    for _ in 0..7 {
        reports(&mut rounds, Instant::now());
    }
    assert!(!rounds.is_stuck());
}
