//! Several processes and several homes with the real engine.
//!
//! The other processes are this test binary, started again with a variable that turns one test into
//! a program.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use hermes_docker::sweep;
use hermes_testkit::EngineImage;
use pretty_assertions::assert_eq;

use crate::docker_world::{DockerWorld, id_of, run_in};

const ROOT: &str = "HERMES_TEST_SANDBOX_ROOT";
const ALONE: &str = "HERMES_TEST_SANDBOX_ALONE";

/// Not a test by itself: without the variable it does nothing. Uses a sandbox, says which container
/// that is, and goes on living until its input ends.
#[test]
fn program_that_uses_a_sandbox() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else {
        return;
    };
    let mut world = DockerWorld::real_over(&root);
    world.settings.persist_across_processes = std::env::var_os(ALONE).is_none();
    let sandbox = std::mem::ManuallyDrop::new(world.sandbox());
    let (code, text) = run_in(&sandbox, "echo works");
    println!("\nresult {code} {text} {}", id_of(&sandbox));
    std::io::stdin().lines().for_each(drop);
}

struct Process {
    child: Child,
    id: String,
}

impl Process {
    fn begin(world: &DockerWorld, alone: bool) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "real_docker_many::program_that_uses_a_sandbox",
                "--nocapture",
            ])
            .env(ROOT, world.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if alone {
            command.env(ALONE, "1");
        }
        command.spawn().unwrap()
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
