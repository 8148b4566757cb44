//! Time limits, interrupts, and that nothing is left after them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::json;

use hermes_testkit::eventually;

use super::world::{World, is_alive};

#[test]
fn a_timeout_keeps_the_output_and_kills_in_time() {
    let world = World::new();
    let started = Instant::now();
    let result = world.call(json!({"command": "echo a; sleep 30", "timeout": 1}));
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(result["exit_code"], 124);
    assert_eq!(result["output"], "a\n[Command timed out after 1s]");
    assert_eq!(result["error"], json!(null));
}

#[test]
fn nobody_survives_a_timeout() {
    for (name, command) in [
        (
            "deaf",
            "trap '' TERM; echo $$ > pid; while :; do sleep 1; done",
        ),
        ("child", "sleep 60 & echo $! > pid; wait"),
        (
            "session",
            "setsid sh -c 'echo $$ > pid; exec sleep 60' & wait",
        ),
        (
            "deaf session",
            "setsid sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done' & wait",
        ),
        (
            "daemon",
            "setsid sh -c '(setsid sh -c \"echo \\$\\$ > pid; exec sleep 60\" &) ; exit' ; sleep 60",
        ),
        (
            "bare daemon",
            "(env -i /bin/sleep 60 & echo $! > pid) ; sleep 60",
        ),
    ] {
        let world = World::new();
        let started = Instant::now();
        let result = world.call(json!({"command": command, "timeout": 1}));
        assert!(started.elapsed() < Duration::from_secs(5), "{name}");
        assert_eq!(result["exit_code"], 124, "{name}");
        assert!(!is_alive(&world.path("work/pid")), "{name}");
    }
}

#[test]
fn an_interrupt_ends_one_session_and_no_other() {
    // check 17
    let world = Arc::new(World::new());
    let other = World::new();
    world.run("true");
    other.run("true");
    std::thread::scope(|scope| {
        let calm = scope.spawn(|| other.run("sleep 1; echo calm"));
        let hit = scope.spawn(|| {
            let started = Instant::now();
            (
                world.run("echo $$ > pid; echo begun; sleep 60"),
                started.elapsed(),
            )
        });
        eventually("the command runs", || {
            std::fs::read_to_string(world.path("work/pid")).is_ok_and(|text| text.ends_with('\n'))
        });
        world.interrupt.raise();
        let (result, took) = hit.join().unwrap();
        assert!(took < Duration::from_secs(2));
        assert_eq!(result["exit_code"], 130);
        assert_eq!(result["output"], "begun\n[Command interrupted]");
        assert!(!is_alive(&world.path("work/pid")));
        assert_eq!(calm.join().unwrap()["output"], "calm");
    });
    world.interrupt.clear();
    assert_eq!(world.output("echo again"), "again");
}

#[test]
fn a_shutdown_kills_every_foreground_command() {
    let world = World::new();
    world.run("true");
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..3)
            .map(|n| {
                let world = &world;
                scope.spawn(move || world.run(&format!("echo $$ > pid{n}; sleep 60")))
            })
            .collect();
        for n in 0..3 {
            eventually("it runs", || {
                std::fs::read_to_string(world.path(&format!("work/pid{n}")))
                    .is_ok_and(|text| text.ends_with('\n'))
            });
        }
        assert!(world.terminal.shut_down(Duration::from_secs(5)));
        for n in 0..3 {
            assert!(!is_alive(&world.path(&format!("work/pid{n}"))));
        }
        for handle in running {
            assert_eq!(handle.join().unwrap()["exit_code"], 130);
        }
    });
}

#[test]
fn the_state_is_untouched_by_a_command_that_was_killed() {
    let world = World::new();
    world.output("export A=1; cd /usr");
    world.call(
        json!({"command": "export A=2; cd /tmp; trap '' TERM; sleep 30; sleep 30", "timeout": 1}),
    );
    assert_eq!(world.output("echo $A; pwd"), "1\n/usr");
}
