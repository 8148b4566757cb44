//! Settings that change while a real container lives.

use hermes_docker::manage::{self, Scope};
use hermes_testkit::RealEngine;
use pretty_assertions::assert_eq;

use crate::docker_world::{DockerWorld, id_of, run_in};

fn field(id: &str, format: &str) -> String {
    RealEngine::Docker
        .ask(&["inspect", "--format", format, id])
        .1
}

#[test]
fn limits_change_in_place_and_other_things_are_told() {
    // check 25
    let mut world = DockerWorld::real();
    world.settings.memory_mb = 256;
    world.settings.volumes = vec![format!("{}:/data", world.at("project").display())];
    let first = world.sandbox();
    run_in(&first, "true");
    let id = id_of(&first);
    for (memory, pids, cpus) in [(512, 64, 0.5), (128, 0, 2.0)] {
        world.settings.memory_mb = memory;
        world.settings.pids_limit = pids;
        world.settings.cpus = cpus;
        let sandbox = world.sandbox();
        run_in(&sandbox, "true");
        assert_eq!(id_of(&sandbox), id);
        let expected = (memory * 1024 * 1024).to_string();
        assert_eq!(field(&id, "{{.HostConfig.Memory}}"), expected);
        let limit = field(&id, "{{.HostConfig.PidsLimit}}");
        assert!(
            limit == pids.to_string() || (pids == 0 && limit == "-1"),
            "{limit}"
        );
    }
    world.settings.env = [("NEW".to_owned(), "1".to_owned())].into();
    let sandbox = world.sandbox();
    run_in(&sandbox, "true");
    assert_eq!(id_of(&sandbox), id);
    assert_eq!(
        world.shown.all(),
        [
            "sandbox was created with different settings: docker_env; run 'hermes sandbox reset' to apply"
        ]
    );
    world.settings.volumes.clear();
    let sandbox = world.sandbox();
    assert_ne!(run_in(&sandbox, "test -d /data").0, 0);
    assert_ne!(id_of(&sandbox), id);
    assert_eq!(world.containers().len(), 1);
}

#[test]
fn a_network_turned_off_is_off() {
    // check 24
    let mut world = DockerWorld::real();
    let open = world.sandbox();
    run_in(&open, "true");
    let old = id_of(&open);
    world.settings.network = false;
    let closed = world.sandbox();
    let (_, interfaces) = run_in(&closed, "ls /sys/class/net");
    assert_eq!(interfaces, "lo");
    assert_ne!(id_of(&closed), old);
    assert_eq!(world.containers(), [id_of(&closed)]);
    assert!(world.shown.all()[0].contains("docker_network"));
    world.settings.network = true;
    let again = world.sandbox();
    run_in(&again, "true");
    assert_eq!(id_of(&again), id_of(&closed), "a closed one is kept");
}

#[test]
fn a_real_list_is_read() {
    let world = DockerWorld::real();
    let sandbox = world.sandbox();
    run_in(&sandbox, "true");
    let host = world.host();
    let listing = manage::list(&host, &Scope::ThisProfile).unwrap();
    let ours: Vec<_> = listing
        .sandboxes
        .iter()
        .filter(|row| row.home == hermes_docker::HomeOf::This)
        .collect();
    assert_eq!(ours.len(), 1);
    assert_eq!(ours[0].id, id_of(&sandbox));
    assert_eq!(ours[0].state, "running");
    assert_eq!(ours[0].drift, [] as [&str; 0]);
    assert_eq!(manage::processes(&host, "default").unwrap(), 0);
    assert_eq!(manage::stop(&host, "default").unwrap().len(), 1);
    assert_eq!(manage::stop(&host, "default").unwrap(), []);
    drop(sandbox);
    let removed = manage::purge(&host, "default").unwrap();
    assert_eq!(removed.containers.len(), 1);
    assert!(!world.home().join("sandboxes/docker/default").exists());
    assert_eq!(world.containers(), [] as [&str; 0]);
}
