//! The other process of the tests: `alone|shared ROOT`. Uses a sandbox of the home below `ROOT`, of
//! its own or shared with other processes, says which container that is, and goes on living until
//! its input ends.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a part of the tests, which says what it did and fails by panicking"
)]

#[path = "../docker_world.rs"]
#[allow(dead_code, reason = "a world for many tests, of which this needs one")]
mod docker_world;

use docker_world::{DockerWorld, id_of, run_in};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (root, shared) = match arguments.as_slice() {
        ["shared", root] => (root, true),
        ["alone", root] => (root, false),
        other => panic!("no role: {other:?}"),
    };
    let mut world = DockerWorld::at_root(root.into());
    world.use_real_engine();
    world.settings.persist_across_processes = shared;
    let sandbox = std::mem::ManuallyDrop::new(world.sandbox());
    let (code, text) = run_in(&sandbox, "echo works");
    println!("result {code} {text} {}", id_of(&sandbox));
    std::io::stdin().lines().for_each(drop);
}
