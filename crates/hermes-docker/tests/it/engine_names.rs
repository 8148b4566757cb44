//! Several who make one container, against an engine that notes its calls.

use hermes_terminal::remote::Transport;
use hermes_testkit::FakeEngine;
use pretty_assertions::assert_eq;

use crate::docker_world::{DockerWorld, full_id, made_by};

#[test]
fn a_name_that_another_process_took_leads_to_its_container() {
    let engine = FakeEngine::new();
    let world = DockerWorld::faked(&engine);
    world.sandbox().ensure().unwrap();
    let run = engine.calls_of("run")[0].clone();
    let made = made_by(&run, &full_id('a'), "created");
    // Nothing at the first look; at the second the other process has made it.
    std::fs::write(
        engine.state().join("made"),
        serde_json::json!([made]).to_string(),
    )
    .unwrap();
    engine.answer(
        "ps",
        "[ -e $FAKE/state/raced ] && printf 'a123456789ab\\tcreated\\n'",
    );
    engine.answer("inspect", "cat $FAKE/state/made");
    engine.answer(
        "run",
        "touch $FAKE/state/raced; echo 'docker: Error response from daemon: Conflict. The container name \"/x\" is already in use by container \"y\".' >&2; exit 125",
    );
    engine.forget();
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(sandbox.container().unwrap().id, full_id('a'));
    assert_eq!(engine.calls_of("run").len(), 1);
    assert_eq!(engine.calls_of("rm").len(), 0, "it is not ours to remove");
    assert_eq!(engine.calls_of("start").len(), 1);
}

#[test]
fn a_container_that_is_listed_late_is_waited_for() {
    let engine = FakeEngine::new();
    let world = DockerWorld::faked(&engine);
    world.sandbox().ensure().unwrap();
    let run = engine.calls_of("run")[0].clone();
    let made = made_by(&run, &full_id('a'), "running");
    engine.print("inspect", &serde_json::json!([made]).to_string());
    // The name is taken at once; the list has it only when it is asked for the third time.
    engine.answer(
        "ps",
        "echo >> $FAKE/state/asked; [ $(wc -l < $FAKE/state/asked) -gt 2 ] && printf 'a123456789ab\\trunning\\n'",
    );
    engine.fail(
        "run",
        125,
        "docker: Conflict. The container name \"/x\" is already in use by y.",
    );
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(sandbox.container().unwrap().id, full_id('a'));
}

#[test]
fn a_name_that_something_else_has_is_not_fought_for() {
    let engine = FakeEngine::new();
    let foreign = serde_json::json!([{"Id": full_id('f'), "Name": "/hermes-x", "State": {"Status": "running"}}]);
    engine.print("inspect", &foreign.to_string());
    engine.answer(
        "run",
        "[ -e $FAKE/state/raced ] && echo abcdef012345 && exit; touch $FAKE/state/raced; echo 'Error: creating container storage: the container name \"x\" is already in use by y' >&2; exit 125",
    );
    let world = DockerWorld::faked(&engine);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    let runs = engine.calls_of("run");
    assert_eq!(runs.len(), 2);
    assert_ne!(runs[0].line(), runs[1].line());
    assert_eq!(engine.calls_of("rm").len(), 0);
}

#[test]
fn many_callers_are_served_by_one_attempt() {
    let engine = FakeEngine::new();
    engine.answer("run", "sleep 0.3; echo abcdef012345");
    let world = DockerWorld::faked(&engine);
    let sandbox = world.sandbox();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| sandbox.ensure())).collect();
        for one in all {
            one.join().unwrap().unwrap();
        }
    });
    assert_eq!(engine.calls_of("run").len(), 1);

    engine.answer("run", "sleep 0.3; echo no >&2; exit 1");
    engine.forget();
    let failing = world.sandbox_of("other");
    let barrier = std::sync::Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                barrier.wait();
                assert!(failing.ensure().unwrap_err().message.contains("no"));
            });
        }
    });
    let tried = engine.calls_of("run").len();
    assert!(
        tried < 4,
        "{tried} attempts for callers that waited together"
    );
    failing.ensure().unwrap_err();
    assert_eq!(
        engine.calls_of("run").len(),
        tried + 1,
        "a later call tries again"
    );
}
