//! Two gateways, one home: whichever runs, the other is refused, and each can stop the other.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hermes_home::gateway_pid;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::reference::Version;
use crate::world::World;

// services 20
with_each_reference!(
    a_gateway_of_theirs_holds_the_home,
    a_gateway_of_ours_holds_the_home,
    each_stops_and_replaces_the_other,
);

/// A gateway in the background; killed when dropped.
struct Background {
    child: Child,
}

impl Background {
    /// Waits until the home says that this gateway runs.
    fn start(world: &World, command: Command) -> Self {
        let mut command = command;
        let child = command
            .args(["gateway", "run"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let this = Self { child };
        let home = world.root("");
        let state = world.root("gateway_state.json");
        wait("a gateway that runs", || {
            let text = std::fs::read_to_string(&state).unwrap_or_default();
            let state: Value = serde_json::from_str(&text).unwrap_or_default();
            state["gateway_state"] == "running" && gateway_pid(&home) == Some(this.child.id())
        });
        this
    }

    fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Already ended is as good as ended now.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_mins(2), "no {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a call said, whatever became of it.
fn said(mut command: Command, args: &[&str]) -> (Option<i32>, String) {
    let output = command.args(args).stdin(Stdio::null()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

fn a_gateway_of_theirs_holds_the_home(version: Version) {
    let world = World::made_by_the_reference(version);
    let theirs = Background::start(&world, world.their_command());
    let pid = theirs.child.id();
    let (code, text) = said(world.our_command(), &["gateway", "run"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains(&format!("(PID {pid})")), "{text}");
    assert_eq!(gateway_pid(&world.root("")), Some(pid));
    let (code, text) = said(world.our_command(), &["gateway", "status"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(&pid.to_string()), "{text}");
}

fn a_gateway_of_ours_holds_the_home(version: Version) {
    let world = World::made_by_the_reference(version);
    let mut ours = Background::start(&world, world.our_command());
    let pid = ours.child.id();
    let lock = std::fs::read_to_string(world.root("gateway.lock")).unwrap();
    for _ in 0..2 {
        let (_, text) = said(world.their_command(), &["gateway", "status"]);
        assert!(text.contains(&pid.to_string()), "{text}");
    }
    let (code, text) = said(world.their_command(), &["gateway", "run"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains(&pid.to_string()), "{text}");
    // None of that has touched the files of the one that runs.
    assert_eq!(
        std::fs::read_to_string(world.root("gateway.lock")).unwrap(),
        lock
    );
    assert_eq!(ours.child.try_wait().unwrap(), None);
    let (_, text) = said(world.their_command(), &["gateway", "stop"]);
    assert_eq!(ours.exit_code(), Some(0), "{text}");
}

fn each_stops_and_replaces_the_other(version: Version) {
    let world = World::made_by_the_reference(version);
    let mut theirs = Background::start(&world, world.their_command());
    let mut replacing = world.our_command();
    replacing
        .args(["gateway", "run", "--replace"])
        .stdout(Stdio::null());
    let mut ours = Background {
        child: replacing.spawn().unwrap(),
    };
    assert_eq!(theirs.exit_code(), Some(0));
    let home = world.root("");
    wait("a gateway of ours", || {
        gateway_pid(&home) == Some(ours.child.id())
    });
    world.ours(&["gateway", "stop"]);
    assert_eq!(ours.exit_code(), Some(0));
    let mut theirs = Background::start(&world, world.their_command());
    world.ours(&["gateway", "stop"]);
    assert_eq!(theirs.exit_code(), Some(0));
    // What either left behind does not keep the other from starting.
    let _ours = Background::start(&world, world.our_command());
}
