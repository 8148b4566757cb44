//! Making containers, against an engine that notes its calls.

use hermes_terminal::remote::Transport;
use hermes_testkit::FakeEngine;
use pretty_assertions::assert_eq;

use crate::docker_world::DockerWorld;

#[test]
fn a_first_use_probes_looks_at_the_image_and_runs() {
    let engine = FakeEngine::new();
    let world = DockerWorld::faked(&engine);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    sandbox.ensure().unwrap();
    let verbs: Vec<String> = engine
        .calls()
        .iter()
        .map(|call| call.args[0].clone())
        .collect();
    assert_eq!(verbs, ["ps", "version", "image", "info", "run"]);
    let run = &engine.calls_of("run")[0];
    let name = sandbox.container().unwrap().name;
    assert!(run.line().starts_with(&format!(
        "run -d --init --name {name} --label hermes-agent=1"
    )));
    assert!(run.line().ends_with("sleep infinity"));
}
