//! Cards that nobody was given, and the profile that the configuration names for them.

use hermes_board::StoredBoard;
use hermes_board::model::{Status, TaskId};
use hermes_board::store::NewTask;
use pretty_assertions::assert_eq;

use super::{Yard, files_below, ids, started};
use crate::{assignee, events, file, task};

const ASSIGNED: &str = r#"assigned {"assignee":"alpha","source":"kanban.default_assignee"}"#;

fn yard(yaml: &str) -> Yard {
    let mut yard = Yard::new();
    yard.configure(yaml);
    yard
}

fn unassigned(yard: &Yard, store: &mut StoredBoard) -> TaskId {
    let id = file(store, &NewTask::titled("nobody's"));
    yard.script(&id, "exec sleep 300");
    id
}

/// Looks once and expects that the card is left as it is.
fn stays_untouched(mut yard: Yard) {
    let mut store = yard.open();
    let id = unassigned(&yard, &mut store);
    let before = (task(&store, &id), events(&store, &id));
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.skipped_unassigned), [id.as_str()]);
    assert_eq!(ids(&report.auto_assigned_default), [] as [&str; 0]);
    assert_eq!(started(&report), [] as [&str; 0]);
    assert_eq!((task(&store, &id), events(&store, &id)), before);
}

#[test]
fn without_a_default_the_card_is_skipped_and_its_row_untouched() {
    stays_untouched(yard(""));
}

#[test]
fn a_blank_default_assignee_is_none() {
    stays_untouched(yard("kanban: {default_assignee: '   '}"));
}

#[test]
fn a_default_assignee_without_profile_is_ignored() {
    stays_untouched(yard("kanban: {default_assignee: orion-cc}"));
}

#[test]
fn a_default_assignee_is_recorded_and_used_in_the_same_tick() {
    let mut yard = yard("kanban: {default_assignee: ' Alpha '}");
    let mut store = yard.open();
    let id = unassigned(&yard, &mut store);
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.auto_assigned_default), [id.as_str()]);
    assert_eq!(started(&report), [id.as_str()]);
    assert_eq!(report.spawned[0].assignee, "alpha");
    let card = task(&store, &id);
    assert_eq!(card.assignee.as_deref(), Some("alpha"));
    assert_eq!(card.status(), Status::Running);
    let told = events(&store, &id);
    assert_eq!(told.iter().filter(|event| *event == ASSIGNED).count(), 1);
    yard.worker_of(&id);
    assert!(yard.said(&id, "argv").starts_with("-p\nalpha\n"));
}

#[test]
fn a_dry_run_reports_the_default_and_changes_nothing() {
    let mut yard = yard("kanban: {default_assignee: alpha}");
    let mut store = yard.open();
    let id = unassigned(&yard, &mut store);
    drop(store);
    let mut store = yard.open();
    let before = files_below(yard.fixture.dir.path());
    let report = yard.dry_run(&mut store);
    assert_eq!(ids(&report.auto_assigned_default), [id.as_str()]);
    assert_eq!(started(&report), [id.as_str()]);
    assert_eq!(report.spawned[0].assignee, "alpha");
    assert_eq!(files_below(yard.fixture.dir.path()), before);
    assert_eq!(task(&store, &id).assignee, None);
}

#[test]
fn an_assigned_card_keeps_its_assignee() {
    let mut yard = yard("kanban: {default_assignee: alpha}");
    let mut store = yard.open();
    let given = |name: &str| NewTask {
        assignee: Some(assignee(name)),
        ..NewTask::titled("given")
    };
    let beta = yard.file_with(&mut store, "exec sleep 300", given("beta"));
    let lane = yard.file_with(&mut store, "", given("orion-cc"));
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.auto_assigned_default), [] as [&str; 0]);
    assert_eq!(ids(&report.skipped_nonspawnable), [lane.as_str()]);
    assert_eq!(started(&report), [beta.as_str()]);
    assert_eq!(task(&store, &beta).assignee.as_deref(), Some("beta"));
    assert_eq!(task(&store, &lane).assignee.as_deref(), Some("orion-cc"));
}

#[test]
fn a_card_without_capacity_is_not_assigned_yet() {
    let mut yard = yard("kanban: {default_assignee: alpha, max_in_progress: 1}");
    let mut store = yard.open();
    let first = unassigned(&yard, &mut store);
    let second = unassigned(&yard, &mut store);
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.auto_assigned_default), [first.as_str()]);
    assert_eq!(report.skipped_capped[0].task_id, second);
    assert_eq!(task(&store, &second).assignee, None);
}
