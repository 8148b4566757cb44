//! The Hermes that the tests kill: `here DIRECTORY` or `in-container NAME`. Starts a background job,
//! then runs a foreground command that does not end.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a part of the tests, which fails by panicking"
)]

#[path = "../remote/hosts.rs"]
#[allow(dead_code, reason = "hosts for many tests, of which this needs one")]
mod hosts;
#[path = "../world.rs"]
#[allow(
    dead_code,
    reason = "a world for many tests, of which this needs little"
)]
mod world;

use std::mem::ManuallyDrop;
use std::path::Path;

use hosts::{Container, Kind, RemoteWorld};
use serde_json::json;
use world::World;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["here", directory] => here(Path::new(directory)),
        ["in-container", name] => in_container(name),
        other => panic!("no role: {other:?}"),
    }
}

/// Leaves the numbers of its processes, and its home, in the directory.
fn here(directory: &Path) {
    let world = World::new();
    let at = |name: &str| directory.join(name).display().to_string();
    world.call(json!({"command": "true"}));
    let job = format!(
        "echo $$ > {}; sleep 1; echo late > {}; exit 6",
        at("job"),
        at("late")
    );
    world.call(json!({"command": job, "background": true, "notify_on_complete": true}));
    std::fs::write(
        directory.join("home"),
        world.path("").as_os_str().as_encoded_bytes(),
    )
    .unwrap();
    let world = ManuallyDrop::new(world);
    world.run(&format!(
        "echo $$ > {}; sleep 300 & echo $! > {}; setsid sh -c 'trap \"\" TERM; echo $$ > {}; while :; do sleep 1; done' & wait",
        at("shell"),
        at("child"),
        at("session"),
    ));
}

fn in_container(name: &str) {
    // The test made it and removes it.
    let container = Container {
        name: name.to_owned(),
        options: Vec::new(),
    };
    let host = ManuallyDrop::new(RemoteWorld::new(Kind::Docker(container)));
    let started = host.world.call(json!({
        "command": "echo x > /root/job; sleep 600.5", "background": true
    }));
    assert_eq!(started["exit_code"], 0);
    host.world.run(
        "sleep 600.1 & setsid sleep 600.2 & \
         sh -c 'trap \"\" TERM; echo x > /root/deaf; while :; do sleep 600.3; done'",
    );
}
