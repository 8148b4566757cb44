//! Time limits, interrupts, and that nothing is left after them.

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::json;

use super::places::{Container, Elsewhere, Kind, busybox};
use hermes_testkit::eventually;

in_each_place!(
    nobody_survives_a_timeout,
    nobody_survives_an_interrupt,
    daemons_are_left_alone,
    a_shutdown_kills_every_command,
    output_before_the_kill_is_kept,
);

/// A number for sleeps of this test that no other test uses.
fn number(n: u32) -> String {
    format!("{}.{n}", std::process::id() % 100_000 + 1000)
}

fn nobody_survives_a_timeout(place: &Elsewhere) {
    let commands = [
        format!("sh -c 'sleep {} & sleep {}'", number(333), number(334)),
        format!("setsid sleep {} & wait", number(335)),
        format!(
            "trap '' TERM; sleep {} & while :; do sleep 0.1; done",
            number(336)
        ),
        format!(
            "setsid sh -c 'trap \"\" TERM; while :; do sleep {}; done' & wait",
            number(337)
        ),
    ];
    for command in commands {
        let begun = Instant::now();
        let result = place.world.call(json!({"command": command, "timeout": 2}));
        assert_eq!(result["exit_code"], 124, "{command}: {result}");
        assert_eq!(result["output"], "[Command timed out after 2s]");
        assert_eq!(result["error"], json!(null));
        assert!(begun.elapsed() < Duration::from_secs(8), "{command}");
        let sleeps = format!("sleep {}.33", std::process::id() % 100_000 + 1000);
        assert!(!place.is_running(&sleeps), "{command}");
    }
    assert_eq!(place.world.output("echo again"), "again");
}

fn nobody_survives_an_interrupt(place: &Elsewhere) {
    place.world.run("true");
    let begun = format!("{}/begun", place.scratch);
    std::thread::scope(|scope| {
        let hit = scope.spawn(|| {
            place.world.run(&format!(
                "echo before; setsid sleep {} & sleep {} & echo x > {begun}; wait",
                number(441),
                number(442)
            ))
        });
        eventually("it runs", || !place.file(&begun).is_empty());
        place.world.interrupt.raise();
        let result = hit.join().unwrap();
        assert_eq!(result["exit_code"], 130);
        assert_eq!(result["output"], "before\n[Command interrupted]");
    });
    place.world.interrupt.clear();
    assert!(!place.is_running(&format!("sleep {}.44", std::process::id() % 100_000 + 1000)));
    assert_eq!(place.world.output("echo again"), "again");
}

fn daemons_are_left_alone(place: &Elsewhere) {
    let sleep = format!("sleep {}", number(551));
    let command = format!("(setsid {sleep} >/dev/null 2>&1 &) ; sleep 60");
    let result = place.world.call(json!({"command": command, "timeout": 1}));
    assert_eq!(result["exit_code"], 124);
    assert!(place.is_running(&sleep));
    place.world.output(&format!("pkill -f '{sleep}'"));
}

fn a_shutdown_kills_every_command(place: &Elsewhere) {
    place.world.run("true");
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..3)
            .map(|n| {
                let begun = format!("{}/begun{n}", place.scratch);
                scope.spawn(move || {
                    place
                        .world
                        .run(&format!("echo x > {begun}; sleep {}", number(660 + n)))
                })
            })
            .collect();
        for n in 0..3 {
            let begun = format!("{}/begun{n}", place.scratch);
            eventually("it runs", || !place.file(&begun).is_empty());
        }
        assert!(place.remote.is_busy());
        assert!(place.world.terminal.shut_down(Duration::from_secs(10)));
        for handle in running {
            assert_eq!(handle.join().unwrap()["exit_code"], 130);
        }
    });
    assert!(!place.is_running(&format!("sleep {}.66", std::process::id() % 100_000 + 1000)));
}

fn output_before_the_kill_is_kept(place: &Elsewhere) {
    place.world.output("export A=1; cd /usr");
    let result = place.world.call(
        json!({"command": "export A=2; cd /tmp; echo said; trap '' TERM; sleep 60; sleep 60", "timeout": 1}),
    );
    assert_eq!(result["output"], "said\n[Command timed out after 1s]");
    assert_eq!(place.world.output("echo $A; pwd"), "1\n/usr");
}

#[test]
fn busybox_kills_as_well() {
    let place = busybox();
    nobody_survives_a_timeout(&place);
    nobody_survives_an_interrupt(&place);
}

/// Only a container has a limit of processes that a test may reach.
mod docker_limits {
    use std::time::{Duration, Instant};

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::{Container, Elsewhere, Kind, number};

    #[test]
    fn a_kill_works_where_no_process_can_be_started() {
        let place = Elsewhere::new(Kind::Docker(Container::run(&["--pids-limit", "32"])));
        place.world.output("echo warm");
        let begun = format!("{}/begun", place.scratch);
        let command = format!(
            "echo x > {begun}; for i in $(seq 100); do sleep {} & done; wait",
            number(771)
        );
        let result = place.world.call(json!({"command": command, "timeout": 3}));
        assert_eq!(result["exit_code"], 124, "{result}");
        let after = Instant::now();
        assert_eq!(place.world.output("pwd"), "/root");
        assert!(
            after.elapsed() < Duration::from_secs(5),
            "{:?}",
            after.elapsed()
        );
        assert!(!place.is_running(&format!("sleep {}", number(771))));
    }
}
