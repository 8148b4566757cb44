//! Several processes and several homes with the real engine.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use hermes_docker::sweep;
use hermes_testkit::EngineImage;
use pretty_assertions::assert_eq;

use crate::docker_world::{DockerWorld, id_of, run_in};

struct Process {
    child: Child,
    id: String,
}

impl Process {
    fn begin(world: &DockerWorld, alone: bool) -> Child {
        Command::new(hermes_testkit::helper_program("docker-test-process"))
            .arg(if alone { "alone" } else { "shared" })
            .arg(world.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Waits until it has used its sandbox.
    fn ready(mut child: Child) -> Self {
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines
            .map_while(Result::ok)
            .find(|line| line.starts_with("result "))
            .unwrap_or_default();
        let id = line.strip_prefix("result 0 works ").map(str::to_owned);
        assert!(id.is_some(), "a process failed: {line}");
        let id = id.unwrap();
        Self { child, id }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn eight_processes_at_once_share_one_container() {
    // check 9
    EngineImage::Shell.name();
    let world = DockerWorld::real();
    let children: Vec<Child> = (0..8).map(|_| Process::begin(&world, false)).collect();
    let processes: Vec<Process> = children.into_iter().map(Process::ready).collect();
    let containers = world.containers();
    assert_eq!(containers.len(), 1);
    assert!(processes.iter().all(|process| process.id == containers[0]));
}

#[test]
fn what_a_killed_process_left_is_removed_and_what_a_live_one_uses_is_not() {
    // check 11
    let mut world = DockerWorld::real();
    let dead = Process::ready(Process::begin(&world, true));
    let alive = Process::ready(Process::begin(&world, true));
    let shared = world.sandbox();
    run_in(&shared, "true");
    assert_eq!(world.containers().len(), 3);
    let dead_id = dead.id.clone();
    drop(dead);
    assert_eq!(world.containers().len(), 3, "SIGKILL leaves it running");
    world.settings.orphan_reaper = true;
    assert_eq!(sweep(&world.host()), 1);
    let left = world.containers();
    assert!(
        !left.contains(&dead_id) && left.contains(&alive.id),
        "{left:?}"
    );
    assert!(left.contains(&id_of(&shared)));
}

#[test]
fn two_homes_never_share() {
    // check 26
    let (one, other) = (DockerWorld::real(), DockerWorld::real());
    let (first, second) = (one.sandbox(), other.sandbox());
    run_in(&first, "echo one > /root/whose");
    run_in(&second, "echo other > /root/whose");
    assert_ne!(id_of(&first), id_of(&second));
    for (world, expected) in [(&one, "one"), (&other, "other")] {
        let again = world.sandbox();
        assert_eq!(run_in(&again, "cat /root/whose"), (0, expected.to_owned()));
        assert_eq!(world.containers(), [id_of(&again)]);
    }
}

#[test]
fn ids_that_look_alike_do_not_share() {
    let world = DockerWorld::real();
    let (slash, colon) = (world.sandbox_of("a/b"), world.sandbox_of("a:b"));
    run_in(&slash, "true");
    run_in(&colon, "true");
    assert_ne!(id_of(&slash), id_of(&colon));
    let again = world.sandbox_of("a:b");
    run_in(&again, "true");
    assert_eq!(id_of(&again), id_of(&colon));
}
