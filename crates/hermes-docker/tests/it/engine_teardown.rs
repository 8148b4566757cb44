//! Giving sandboxes up, against an engine that notes its calls.

use std::time::{Duration, Instant};

use hermes_docker::{DockerSandbox, Removal, SandboxRequest};
use hermes_terminal::remote::Transport;
use hermes_testkit::{EngineCall, FakeEngine};
use pretty_assertions::assert_eq;

use crate::docker_world::{DockerWorld, id_of};
use hermes_testkit::eventually;

const PATIENCE: Duration = Duration::from_secs(20);

fn leaving(engine: &FakeEngine) -> Vec<String> {
    let calls = engine.calls();
    let of = |call: &&EngineCall| call.is("stop") || call.is("rm");
    calls.iter().filter(of).map(EngineCall::line).collect()
}

#[test]
fn a_shared_container_stays() {
    let engine = FakeEngine::new();
    let world = DockerWorld::faked(&engine);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    engine.forget();
    sandbox.cleanup(Removal::AsConfigured);
    assert_eq!(sandbox.container(), None);
    assert!(sandbox.host().finish(PATIENCE));
    drop(sandbox);
    assert_eq!(engine.calls(), []);
}

#[test]
fn by_force_it_goes_and_its_directories_stay() {
    let engine = FakeEngine::new();
    let world = DockerWorld::faked(&engine);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    let id = id_of(&sandbox);
    let file = world.home().join("sandboxes/docker/default/home/file");
    std::fs::write(&file, "kept").unwrap();
    sandbox.cleanup(Removal::Forced);
    sandbox.cleanup(Removal::Forced);
    assert!(sandbox.host().finish(PATIENCE));
    assert_eq!(
        leaving(&engine),
        [format!("stop -t 10 {id}"), format!("rm -f {id}")]
    );
    assert!(file.exists());
}

#[test]
fn what_is_not_shared_goes_whatever_its_files_are() {
    for persistent in [true, false] {
        let engine = FakeEngine::new();
        let mut world = DockerWorld::faked(&engine);
        world.settings.persist_across_processes = false;
        world.settings.container_persistent = persistent;
        let sandbox = world.sandbox();
        sandbox.ensure().unwrap();
        let id = id_of(&sandbox);
        let host = sandbox.host().clone();
        drop(sandbox);
        assert!(host.finish(PATIENCE));
        assert_eq!(
            leaving(&engine),
            [format!("stop -t 10 {id}"), format!("rm -f {id}")]
        );
    }
}

#[test]
fn a_container_that_does_not_stop_is_removed_all_the_same() {
    let engine = FakeEngine::new();
    engine.fail("stop", 1, "Error response from daemon: cannot stop");
    let mut world = DockerWorld::faked(&engine);
    world.settings.persist_across_processes = false;
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    sandbox.cleanup(Removal::AsConfigured);
    assert!(sandbox.host().finish(PATIENCE));
    assert_eq!(engine.calls_of("rm").len(), 1);
}

#[test]
fn all_of_them_go_together_and_the_end_waits() {
    let engine = FakeEngine::new();
    // Each stop waits until all three have begun: one after the other they would never end.
    engine.answer(
        "stop",
        "echo >> $FAKE/state/stops; while [ $(wc -l < $FAKE/state/stops) -lt 3 ]; do sleep 0.05; done",
    );
    let mut world = DockerWorld::faked(&engine);
    world.settings.persist_across_processes = false;
    let host = world.host();
    for task in ["a", "b", "c"] {
        let sandbox = DockerSandbox::new(host.clone(), SandboxRequest::of(task));
        sandbox.ensure().unwrap();
        let begun = Instant::now();
        sandbox.cleanup(Removal::AsConfigured);
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "it returns at once"
        );
    }
    assert!(host.finish(PATIENCE));
    assert_eq!(engine.calls_of("rm").len(), 3);
    assert!(host.finish(Duration::ZERO), "nothing is left to wait for");
}

#[test]
fn what_takes_too_long_is_removed_without_us() {
    let engine = FakeEngine::new();
    engine.hang("stop");
    engine.answer("rm", "sleep 0.2; touch $FAKE/state/removed");
    let mut world = DockerWorld::faked(&engine);
    world.settings.persist_across_processes = false;
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    sandbox.cleanup(Removal::AsConfigured);
    assert!(!sandbox.host().finish(Duration::from_millis(200)));
    eventually("the removal", || engine.state().join("removed").exists());
}

#[test]
fn a_sandbox_that_never_was_needs_no_engine() {
    let engine = FakeEngine::new();
    let world = DockerWorld::faked(&engine);
    let sandbox = world.sandbox();
    sandbox.cleanup(Removal::Forced);
    assert!(sandbox.host().finish(Duration::ZERO));
    drop(sandbox);
    assert_eq!(engine.calls(), []);
}
