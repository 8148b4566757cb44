//! Time limits, interrupts, and that nothing is left after them.

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::json;

use super::hosts::{Container, Kind, RemoteWorld, busybox};
use hermes_testkit::eventually;

on_each_host!(
    nobody_survives_a_timeout,
    nobody_survives_an_interrupt,
    daemons_die_with_their_command,
    a_shutdown_kills_every_command,
    output_before_the_kill_is_kept,
);

/// A number for sleeps of this test that no other test uses.
fn number(n: u32) -> String {
    format!("{}.{n}", std::process::id() % 100_000 + 1000)
}

fn nobody_survives_a_timeout(host: &RemoteWorld) {
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
        let result = host.world.call(json!({"command": command, "timeout": 2}));
        assert_eq!(result["exit_code"], 124, "{command}: {result}");
        assert_eq!(result["output"], "[Command timed out after 2s]");
        assert_eq!(result["error"], json!(null));
        assert!(begun.elapsed() < Duration::from_secs(8), "{command}");
        let sleeps = format!("sleep {}.33", std::process::id() % 100_000 + 1000);
        assert!(!host.is_running(&sleeps), "{command}");
    }
    assert_eq!(host.world.output("echo again"), "again");
}

fn nobody_survives_an_interrupt(host: &RemoteWorld) {
    host.world.run("true");
    let begun = format!("{}/begun", host.scratch);
    std::thread::scope(|scope| {
        let hit = scope.spawn(|| {
            host.world.run(&format!(
                "echo before; setsid sleep {} & sleep {} & echo x > {begun}; wait",
                number(441),
                number(442)
            ))
        });
        eventually("it runs", || !host.file(&begun).is_empty());
        host.world.interrupt.raise();
        let result = hit.join().unwrap();
        assert_eq!(result["exit_code"], 130);
        assert_eq!(result["output"], "before\n[Command interrupted]");
    });
    host.world.interrupt.clear();
    assert!(!host.is_running(&format!("sleep {}.44", std::process::id() % 100_000 + 1000)));
    assert_eq!(host.world.output("echo again"), "again");
}

fn daemons_die_with_their_command(host: &RemoteWorld) {
    let sleep = format!("sleep {}", number(551));
    let command = format!("(env -i PATH=\"$PATH\" setsid {sleep} >/dev/null 2>&1 &)");
    // One whose command has ended is nobody's to kill.
    host.world.output(&command);
    eventually("it runs", || host.is_running(&sleep));
    let result = host
        .world
        .call(json!({"command": "sleep 60", "timeout": 1}));
    assert_eq!(result["exit_code"], 124);
    assert!(host.is_running(&sleep));
    host.world.output(&format!("pkill -f '{sleep}'"));
    eventually("it is gone", || !host.is_running(&sleep));
    let command = format!("{command}; sleep 60");
    let result = host.world.call(json!({"command": command, "timeout": 1}));
    assert_eq!(result["exit_code"], 124);
    assert!(!host.is_running(&sleep));
}

fn a_shutdown_kills_every_command(host: &RemoteWorld) {
    host.world.run("true");
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..3)
            .map(|n| {
                let begun = format!("{}/begun{n}", host.scratch);
                scope.spawn(move || {
                    host.world
                        .run(&format!("echo x > {begun}; sleep {}", number(660 + n)))
                })
            })
            .collect();
        for n in 0..3 {
            let begun = format!("{}/begun{n}", host.scratch);
            eventually("it runs", || !host.file(&begun).is_empty());
        }
        assert!(host.remote.is_busy());
        assert!(host.world.terminal.shut_down(Duration::from_secs(10)));
        for handle in running {
            assert_eq!(handle.join().unwrap()["exit_code"], 130);
        }
    });
    assert!(!host.is_running(&format!("sleep {}.66", std::process::id() % 100_000 + 1000)));
}

fn output_before_the_kill_is_kept(host: &RemoteWorld) {
    host.world.output("export A=1; cd /usr");
    let result = host.world.call(
        json!({"command": "export A=2; cd /tmp; echo said; trap '' TERM; sleep 60; sleep 60", "timeout": 1}),
    );
    assert_eq!(result["output"], "said\n[Command timed out after 1s]");
    assert_eq!(host.world.output("echo $A; pwd"), "1\n/usr");
}

#[test]
fn busybox_kills_as_well() {
    let host = busybox();
    nobody_survives_a_timeout(&host);
    nobody_survives_an_interrupt(&host);
}

/// Only a container has a limit of processes that a test may reach.
mod docker_limits {
    use std::time::{Duration, Instant};

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::{Container, Kind, RemoteWorld, number};

    #[test]
    fn a_kill_works_where_no_process_can_be_started() {
        let host = RemoteWorld::new(Kind::Docker(Container::run(&["--pids-limit", "32"])));
        host.world.output("echo warm");
        let begun = format!("{}/begun", host.scratch);
        let command = format!(
            "echo x > {begun}; for i in $(seq 100); do sleep {} & done; wait",
            number(771)
        );
        let result = host.world.call(json!({"command": command, "timeout": 3}));
        assert_eq!(result["exit_code"], 124, "{result}");
        let after = Instant::now();
        assert_eq!(host.world.output("pwd"), "/root");
        assert!(
            after.elapsed() < Duration::from_secs(5),
            "{:?}",
            after.elapsed()
        );
        assert!(!host.is_running(&format!("sleep {}", number(771))));
    }
}
