//! The life of a container with the real engine.

use hermes_testkit::engine;
use pretty_assertions::assert_eq;

use crate::docker_world::{DockerWorld, id_of, run_in};

#[test]
fn the_walls_stand_as_designed() {
    // check 3
    let world = DockerWorld::real();
    let sandbox = world.sandbox();
    let (code, status) = run_in(&sandbox, "grep -E 'CapEff|NoNewPrivs' /proc/self/status");
    assert_eq!(code, 0, "{status}");
    assert!(status.contains("00000000000000cb"), "{status}");
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let copied = |place: &str| {
        run_in(
            &sandbox,
            &format!("cp /bin/busybox {place}/ && {place}/busybox true"),
        )
        .0
    };
    assert_eq!(copied("/tmp"), 0);
    assert_eq!(copied("/var/tmp"), 126);
    let (_, place) = run_in(&sandbox, "pwd; echo $HOME");
    assert_eq!(place, "/root\n/root");
}

#[test]
fn a_second_process_finds_the_container_of_the_first() {
    // check 5
    let world = DockerWorld::real();
    let first = world.sandbox();
    run_in(
        &first,
        "sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > /root/pid",
    );
    let second = world.sandbox();
    let (code, text) = run_in(&second, "kill -0 $(cat /root/pid)");
    assert_eq!((code, text.as_str()), (0, ""));
    assert_eq!(id_of(&first), id_of(&second));
    assert!(!second.container().unwrap().is_new);
    assert_eq!(world.containers().len(), 1);
}

#[test]
fn a_stopped_container_is_started_again() {
    // check 6
    let world = DockerWorld::real();
    let first = world.sandbox();
    run_in(&first, "echo kept > /root/file; echo lost > /tmp/file");
    engine(["stop", "-t", "0", &id_of(&first)]);
    let second = world.sandbox();
    let (_, text) = run_in(&second, "cat /root/file; ls /tmp");
    assert_eq!(text, "kept");
    assert_eq!(id_of(&first), id_of(&second));
}
