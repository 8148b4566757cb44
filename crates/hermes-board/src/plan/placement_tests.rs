//! Cards that ask for hosts.

use pretty_assertions::assert_eq;

use crate::model::{Host, Placement, TaskId};
use crate::plan::testing::{ALIVE, NOW, Scene};
use crate::plan::{OwnHost, WorkerFact};

fn host(name: &str, labels: &[&str]) -> Host {
    Host {
        id: format!("id-{name}"),
        name: name.to_owned(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        slots: None,
        version: "1".to_owned(),
        started_at: NOW - 1000,
        heartbeat_at: NOW,
        beat_seconds: 15,
        left_at: None,
        home: String::new(),
    }
}

/// The dispatcher of `desk` beside `hosts`, and a card that asks for these labels and this host.
fn asking(labels: &[&str], on: Option<&str>, hosts: Vec<Host>) -> Scene {
    let mut scene = Scene::new().ready("a", Some("alpha"));
    scene.board.ready[0].placement = Placement::parse(labels.iter().copied(), on).unwrap();
    scene.board.hosts = hosts;
    scene.facts.host = OwnHost {
        id: Some("id-desk".to_owned()),
        name: "desk".to_owned(),
        labels: vec!["ssd".to_owned()],
    };
    scene
}

fn why(scene: &Scene) -> String {
    let plan = scene.plan();
    let verdicts = plan.why(&TaskId::new("a"));
    let sentences = verdicts.iter().map(|one| one.sentence(|at| at.to_string()));
    sentences.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_card_starts_on_a_host_with_its_name_and_all_its_labels() {
    for (labels, on) in [
        (&["ssd"][..], None),
        (&[], Some("desk")),
        (&["ssd"], Some("id-desk")),
    ] {
        let scene = asking(labels, on, vec![host("desk", &["ssd"])]);
        assert_eq!(scene.report().started(), ["a"], "{labels:?} {on:?}");
    }
    let scene = asking(&["ssd", "gpu"], None, vec![host("desk", &["ssd"])]);
    assert!(scene.report().started().is_empty());
}

#[test]
fn a_card_that_no_host_suits_says_what_is_missing() {
    let hosts = || vec![host("desk", &["ssd"]), host("gpu1", &["gpu"])];
    let sentence = |labels: &[&str], on| why(&asking(labels, on, hosts()));
    assert_eq!(
        sentence(&["tpu"], None),
        "No host has the label tpu (hosts: desk, gpu1)."
    );
    assert_eq!(
        sentence(&["gpu", "ssd"], None),
        "No host has all of the labels gpu, ssd (hosts: desk, gpu1)."
    );
    assert_eq!(
        sentence(&[], Some("lap")),
        "No host is called lap (hosts: desk, gpu1)."
    );
    assert_eq!(
        sentence(&["ssd"], Some("gpu1")),
        "Host gpu1 does not have the label ssd."
    );
    assert_eq!(
        why(&asking(&["gpu"], None, Vec::new())),
        "No host has the label gpu (hosts: none)."
    );
}

#[test]
fn a_card_for_another_host_says_whether_that_host_is_away_or_full() {
    let mut gpu = host("gpu1", &["gpu"]);
    let sentence = |gpu: &Host| why(&asking(&["gpu"], None, vec![gpu.clone()]));
    assert_eq!(sentence(&gpu), "Host gpu1 starts it at its next tick.");
    gpu.heartbeat_at = NOW - 190;
    assert_eq!(sentence(&gpu), "Host gpu1 has been away for 3 min.");
    gpu.heartbeat_at = NOW;
    gpu.slots = Some(1);
    let scene = asking(&["gpu"], None, vec![gpu]).running_with("b", ALIVE, |running| {
        running.host_id = Some("id-gpu1".to_owned());
    });
    assert_eq!(why(&scene), "Host gpu1 has no free slot.");
    assert!(scene.report().is_held_up());
}

#[test]
fn a_host_with_a_free_slot_is_named_before_one_that_is_away() {
    let mut away = host("a1", &["gpu"]);
    away.left_at = Some(NOW - 5);
    let scene = asking(&["gpu"], None, vec![away, host("b1", &["gpu"])]);
    assert_eq!(why(&scene), "Host b1 starts it at its next tick.");
}

#[test]
fn slots_count_the_cards_of_this_host_alone() {
    let scene = |elsewhere: bool| {
        let scene = asking(&[], None, Vec::new()).limits(|limits| {
            limits.max_in_progress_per_host = Some(1);
        });
        let fact = if elsewhere {
            WorkerFact::OtherHost
        } else {
            ALIVE
        };
        scene.running_with("b", fact, |running| {
            let id = if elsewhere { "id-gpu1" } else { "id-desk" };
            running.host_id = Some(id.to_owned());
        })
    };
    assert_eq!(scene(true).report().started(), ["a"]);
    assert_eq!(
        why(&scene(false)),
        "Host desk has no free slot: 1 in progress, kanban.max_in_progress_per_host is 1."
    );
    // Cards of a program that records no host count where their worker lives.
    let mut foreign = scene(false);
    foreign.board.running[0].host_id = None;
    assert!(foreign.report().started().is_empty());
}
