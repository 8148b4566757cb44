//! The same with podman.

use std::time::Duration;

use hermes_docker::manage::{self, Scope};
use hermes_docker::{EngineKind, HomeOf, Removal, sweep};
use hermes_terminal::remote::{Transport, Trouble};
use hermes_testkit::RealEngine;
use pretty_assertions::assert_eq;

use crate::docker_world::{DockerWorld, id_of, run_in};

fn podman(args: &[&str]) -> String {
    RealEngine::Podman.demand(args)
}

#[test]
fn a_sandbox_is_made_found_started_and_unpaused() {
    let world = DockerWorld::podman();
    let first = world.sandbox();
    let (code, status) = run_in(
        &first,
        "echo kept > /root/file; grep CapEff /proc/self/status; pwd",
    );
    assert_eq!(code, 0, "{status}");
    assert!(
        status.contains("00000000000000cb") && status.ends_with("/root"),
        "{status}"
    );
    assert_eq!(first.host().check().unwrap().kind, EngineKind::Podman);
    let id = id_of(&first);
    let second = world.sandbox();
    assert_eq!(run_in(&second, "cat /root/file"), (0, "kept".to_owned()));
    assert_eq!(id_of(&second), id);
    assert_eq!(world.shown.all(), [] as [&str; 0], "nothing has changed");

    podman(&["stop", "-t", "0", &id]);
    let (code, words) = run_in(&second, "true");
    assert_eq!(
        second.diagnose(Some(code), &words),
        Trouble::Gone,
        "{words}"
    );
    assert_eq!(run_in(&second, "cat /root/file"), (0, "kept".to_owned()));
    assert_eq!(id_of(&second), id);
    podman(&["pause", &id]);
    let third = world.sandbox();
    assert_eq!(run_in(&third, "echo on"), (0, "on".to_owned()));
    assert_eq!(id_of(&third), id);
    podman(&["rm", "-f", "-t", "0", &id]);
    let (code, words) = run_in(&third, "true");
    assert_eq!(third.diagnose(Some(code), &words), Trouble::Gone, "{words}");
    assert_eq!(run_in(&third, "cat /root/file"), (0, "kept".to_owned()));
    assert_eq!(world.containers(), [id_of(&third)]);
}

#[test]
fn a_network_turned_off_is_off_and_the_list_is_read() {
    let mut world = DockerWorld::podman();
    world.settings.network = false;
    let sandbox = world.sandbox();
    assert_eq!(run_in(&sandbox, "ls /sys/class/net"), (0, "lo".to_owned()));
    let again = world.sandbox();
    again.ensure().unwrap();
    assert_eq!(id_of(&again), id_of(&sandbox));
    let host = world.host();
    let listing = manage::list(&host, &Scope::ThisProfile).unwrap();
    assert_eq!(listing.engine.kind, EngineKind::Podman);
    let row = listing
        .sandboxes
        .iter()
        .find(|row| row.home == HomeOf::This)
        .unwrap();
    assert_eq!(row.id, id_of(&sandbox));
    assert_eq!(row.drift, [] as [&str; 0]);
    assert_eq!(row.network.as_deref(), Some("none"));
    assert!(
        row.created_at.is_some() && row.finished_at.is_none(),
        "{row:?}"
    );
    assert_eq!(manage::reset(&host, "default").unwrap().len(), 1);
    assert_eq!(world.containers(), [] as [&str; 0]);
}

#[test]
fn callers_at_once_share_one_container() {
    let world = DockerWorld::podman();
    let ids: Vec<String> = std::thread::scope(|scope| {
        let begin = |_| {
            let sandbox = world.sandbox();
            scope.spawn(move || {
                assert_eq!(run_in(&sandbox, "echo works"), (0, "works".to_owned()));
                id_of(&sandbox)
            })
        };
        let all: Vec<_> = (0..4).map(begin).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(world.containers().len(), 1, "{ids:?}");
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[test]
fn what_is_not_shared_goes_and_what_is_alive_is_not_swept() {
    let mut world = DockerWorld::podman();
    world.settings.persist_across_processes = false;
    let sandbox = world.sandbox();
    run_in(&sandbox, "true");
    assert_eq!(sweep(&world.host()), 0);
    assert_eq!(world.containers().len(), 1);
    sandbox.cleanup(Removal::AsConfigured);
    assert!(sandbox.host().finish(Duration::from_mins(1)));
    assert_eq!(world.containers(), [] as [&str; 0]);
}

#[test]
fn a_bad_image_leaves_nothing() {
    let mut world = DockerWorld::podman();
    world.settings.image = "localhost:1/no/such-image:1".to_owned();
    let error = world.sandbox().ensure().unwrap_err();
    assert!(
        error.message.contains("localhost:1/no/such-image"),
        "{error}"
    );
    assert_eq!(world.containers(), [] as [&str; 0]);
}
