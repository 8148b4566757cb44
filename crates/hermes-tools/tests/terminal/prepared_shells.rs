//! Shells that wait for the next command of their session: faster, and otherwise not to be told from
//! others.

use std::time::Duration;

use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use hermes_testkit::eventually;

use super::world::World;

/// Shells of this world that run.
fn shells(world: &World) -> Vec<u32> {
    hermes_proc::pids_of_user(rustix::process::geteuid().as_raw())
        .into_iter()
        .filter(|pid| {
            hermes_proc::environment_of(*pid).is_some_and(|variables| {
                variables
                    .iter()
                    .any(|(name, value)| name == "HOME" && *value == world.path("user"))
            })
        })
        .collect()
}

/// A session with a shell that waits, and its pid.
fn waiting(world: &World) -> u32 {
    world.output("true");
    world.output("true");
    let mut found = Vec::new();
    eventually("a shell waits", || {
        found = shells(world);
        found.len() == 1
    });
    found[0]
}

#[test]
fn the_next_command_runs_in_the_shell_that_waits() {
    let world = World::new();
    let pid = waiting(&world);
    assert_eq!(
        world.output("echo $$ $SECONDS $0 $#"),
        format!("{pid} 0 bash 0")
    );
    // Another took its place, for another command.
    let next = waiting(&world);
    assert_ne!(next, pid);
}

#[test]
fn a_single_command_leaves_no_shell_behind() {
    let world = World::new();
    world.output("true");
    assert!(world.call_in("other", json!({"command": "true"}))["exit_code"] == 0);
    // There is nothing to wait for: whoever would start one has not been started.
    assert_eq!(shells(&world), [] as [u32; 0]);
}

#[test]
fn what_lasts_in_a_session_lasts_in_a_waiting_shell() {
    let world = World::new();
    std::fs::create_dir(world.path("work/sub")).unwrap();
    world.output("f() { echo f:$1; }; alias hi='echo hi'; export KEPT=1; plain=2; cd sub");
    waiting(&world);
    let sub = world.path("work/sub").display().to_string();
    assert_eq!(
        world.output("f x; hi; echo $KEPT:$plain; pwd"),
        format!("f:x\nhi\n1:\n{sub}")
    );
    world.output("unset KEPT; unalias hi; unset -f f; cd ..");
    waiting(&world);
    assert_eq!(
        world.output("echo ${KEPT-gone}; type f hi 2>&1 | wc -l"),
        "gone\n2"
    );
}

#[test]
fn a_directory_of_the_same_name_is_another_one() {
    let world = World::new();
    std::fs::create_dir(world.path("work/sub")).unwrap();
    world.output("cd sub");
    let pid = waiting(&world);
    std::fs::rename(world.path("work/sub"), world.path("work/moved")).unwrap();
    std::fs::create_dir(world.path("work/sub")).unwrap();
    assert_ne!(world.output("echo $$ > here; cat here"), pid.to_string());
    assert!(world.path("work/sub/here").exists());
}

#[test]
fn other_variables_and_directories_and_input_mean_another_shell() {
    let world = World::new();
    let pid = waiting(&world);
    let outside = ("FROM_OUTSIDE".into(), "new".into());
    world.env.base.lock().unwrap().push(outside);
    let output = world.output("echo $$ $FROM_OUTSIDE");
    assert!(output.ends_with(" new"), "{output}");
    assert_ne!(output, format!("{pid} new"));

    let pid = waiting(&world);
    let elsewhere = world.call(json!({"command": "pwd; echo $$", "workdir": "/tmp"}));
    let output = elsewhere["output"].as_str().unwrap();
    assert!(output.starts_with("/tmp\n"), "{output}");
    assert_ne!(output, format!("/tmp\n{pid}"));
    assert!(!shells(&world).contains(&pid), "it was ended");
}

#[test]
fn a_waiting_shell_that_was_killed_is_replaced_and_the_command_runs_once() {
    let world = World::new();
    let pid = waiting(&world);
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
    eventually("it is gone", || !shells(&world).contains(&pid));
    assert_eq!(world.output("echo once >> runs; cat runs"), "once");
}

#[test]
fn commands_at_once_do_not_share_it() {
    let world = World::new();
    waiting(&world);
    let pids: Vec<String> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| world.output("echo $$")))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let mut different = pids.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), pids.len(), "{pids:?}");
}

#[test]
fn none_waits_after_the_end() {
    let world = World::new();
    waiting(&world);
    assert!(world.terminal.shut_down(Duration::from_secs(10)));
    eventually("nobody waits", || shells(&world).is_empty());
}
