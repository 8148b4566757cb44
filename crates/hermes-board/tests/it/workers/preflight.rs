//! Cards whose workers could not run: told, not tried.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hermes_board::dispatch::WorkerNeeds;
use hermes_board::model::{Obstacle, SkillList, TaskId};
use hermes_board::store::NewTask;
use pretty_assertions::assert_eq;

use super::{Yard, started};
use crate::{assignee, events, file, kinds, task};

fn obstacle(problem: &str, holds: bool) -> Obstacle {
    Obstacle {
        problem: problem.into(),
        hint: Some("do something".into()),
        holds,
    }
}

/// A yard in which alpha cannot run, beta has to fetch something, and the skill `gone` is missing.
fn yard() -> (Yard, Arc<AtomicUsize>) {
    let mut yard = Yard::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    yard.dispatcher.workers.preflight = Some(Arc::new(move |needs: &WorkerNeeds| {
        count.fetch_add(1, Ordering::SeqCst);
        assert!(needs.environment.iter().any(|(name, _)| name == "PATH"));
        if needs.skills.iter().any(|skill| skill == "gone") {
            return Some(obstacle("no such skill", true));
        }
        match needs.profile.as_str() {
            "alpha" if needs.model.is_none() => Some(obstacle("no model is set", true)),
            "beta" => Some(obstacle("an image is fetched", false)),
            _ => None,
        }
    }));
    (yard, asked)
}

fn card(assigned: &str) -> NewTask {
    NewTask {
        assignee: Some(assignee(assigned)),
        ..NewTask::titled("card")
    }
}

fn why(yard: &mut Yard, store: &hermes_board::StoredBoard, id: &TaskId) -> String {
    let verdicts = yard.dispatcher.why(store, id).unwrap();
    let sentences = verdicts.iter().map(|one| one.sentence(|at| at.to_string()));
    sentences.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_card_whose_assignee_cannot_run_gets_no_worker_and_says_why() {
    let (mut yard, asked) = yard();
    let mut store = yard.open();
    let first = file(&mut store, &card("alpha"));
    let second = file(&mut store, &card("alpha"));
    let report = yard.tick(&mut store);
    assert_eq!(report.spawned, []);
    assert_eq!(
        asked.load(Ordering::SeqCst),
        1,
        "alike workers are looked at once"
    );
    let held: Vec<_> = report.cannot_start.iter().map(|row| &row.task_id).collect();
    let mut expected = [&first, &second];
    expected.sort();
    let mut held = held;
    held.sort();
    assert_eq!(held, expected);
    assert_eq!(
        why(&mut yard, &store, &first),
        "alpha cannot run: no model is set. To change that: do something."
    );
    // Noted once, not at every tick, and nothing counts as a failure.
    yard.tick(&mut store);
    assert_eq!(kinds(&store, &first), ["created", "preflight"]);
    assert_eq!(
        events(&store, &first)[1],
        r#"preflight {"assignee":"alpha","problem":"no model is set","hint":"do something","holds":true}"#
    );
    assert_eq!(task(&store, &first).consecutive_failures, 0);
    // A model of the card's own is enough for this profile.
    let own = NewTask {
        model_override: Some("m".to_owned()),
        ..card("alpha")
    };
    let own = yard.file_with(&mut store, "exec sleep 300", own);
    assert_eq!(started(&yard.tick(&mut store)), [own.as_str()]);
}

#[test]
fn what_a_worker_has_to_do_first_is_told_and_does_not_hold_it() {
    let (mut yard, _) = yard();
    let mut store = yard.open();
    let id = yard.file_with(&mut store, "exec sleep 300", card("beta"));
    assert_eq!(
        why(&mut yard, &store, &id),
        "A worker starts for beta. First, an image is fetched."
    );
    let report = yard.tick(&mut store);
    assert_eq!(started(&report), [id.as_str()]);
    assert_eq!(&*report.delayed[0].problem, "an image is fetched");
    let needs_skill = NewTask {
        skills: Some(SkillList::parse(["gone"], &[]).unwrap()),
        ..card("beta")
    };
    let needs_skill = file(&mut store, &needs_skill);
    let report = yard.tick(&mut store);
    assert_eq!(report.cannot_start[0].task_id, needs_skill);
    assert_eq!(&*report.cannot_start[0].problem, "no such skill");
}

#[test]
fn a_card_without_assignee_is_checked_as_the_default_one() {
    let (mut yard, _) = yard();
    yard.configure("kanban: {default_assignee: alpha}");
    let mut store = yard.open();
    let id = file(&mut store, &NewTask::titled("card"));
    let report = yard.tick(&mut store);
    assert_eq!(report.auto_assigned_default, []);
    assert_eq!(report.cannot_start[0].task_id, id);
    assert_eq!(report.cannot_start[0].assignee, "alpha");
}
