//! Finding a container again, against an engine that notes its calls.

use hermes_docker::{OnDrift, labels};
use hermes_terminal::remote::{Transport, Trouble};
use hermes_testkit::{EngineCall, FakeEngine};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::docker_world::{DockerWorld, FakeEngineExt, full_id, id_of, made_by};

/// A world, its engine, and the call that made its first container.
fn after_first_use(change: impl FnOnce(&mut DockerWorld)) -> (FakeEngine, DockerWorld, EngineCall) {
    let engine = FakeEngine::new();
    let mut world = DockerWorld::faked(&engine);
    change(&mut world);
    world.sandbox().ensure().unwrap();
    let run = engine.calls_of("run")[0].clone();
    engine.forget();
    (engine, world, run)
}

fn verbs(engine: &FakeEngine) -> Vec<String> {
    let calls = engine.calls();
    calls.iter().map(|call| call.args[0].clone()).collect()
}

#[test]
fn a_running_container_is_used_as_it_is() {
    let (engine, world, run) = after_first_use(|_| {});
    engine.have(&[made_by(&run, &full_id('a'), "running")]);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), full_id('a'));
    assert_eq!(verbs(&engine), ["ps", "inspect"]);
    assert_eq!(world.shown.all(), [] as [&str; 0]);
}

#[test]
fn an_exited_or_created_one_is_started() {
    for state in ["exited", "created", "Exited"] {
        let (engine, world, run) = after_first_use(|_| {});
        engine.have(&[made_by(&run, &full_id('a'), state)]);
        let sandbox = world.sandbox();
        sandbox.ensure().unwrap();
        assert_eq!(id_of(&sandbox), full_id('a'));
        assert_eq!(verbs(&engine), ["ps", "inspect", "start"]);
    }
}

#[test]
fn one_that_does_not_start_is_replaced_under_another_name() {
    // check 8
    let (engine, world, run) = after_first_use(|_| {});
    engine.have(&[made_by(&run, &full_id('a'), "exited")]);
    engine.fail("start", 1, "Error response from daemon: no such runtime");
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    let container = sandbox.container().unwrap();
    assert!(container.is_new);
    assert_ne!(container.id, full_id('a'));
    assert_ne!(
        container.name,
        sandbox
            .host()
            .plan(sandbox.request())
            .unwrap()
            .identity
            .shared_name()
    );
    assert_eq!(engine.calls_of("start").len(), 1);
    assert_eq!(engine.calls_of("rm").len(), 0);
}

#[test]
fn a_running_one_is_preferred_and_the_others_are_left_alone() {
    let (engine, world, run) = after_first_use(|_| {});
    engine.have(&[
        made_by(&run, &full_id('a'), "exited"),
        made_by(&run, &full_id('b'), "running"),
        made_by(&run, &full_id('c'), "running"),
    ]);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), full_id('b'));
    assert_eq!(verbs(&engine), ["ps", "inspect"]);
}

#[test]
fn a_paused_one_goes_on() {
    let (engine, world, run) = after_first_use(|_| {});
    engine.have(&[made_by(&run, &full_id('a'), "paused")]);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), full_id('a'));
    assert_eq!(verbs(&engine), ["ps", "inspect", "unpause"]);
}

#[test]
fn a_restarting_one_is_waited_for() {
    let (engine, world, run) = after_first_use(|_| {});
    engine.have(&[made_by(&run, &full_id('a'), "restarting")]);
    let show = |state: &str, name: &str| {
        let text = json!([made_by(&run, &full_id('a'), state)]).to_string();
        std::fs::write(engine.state().join(name), text).unwrap();
    };
    show("restarting", "first");
    show("running", "later");
    engine.answer(
        "inspect",
        "echo >> $FAKE/state/looks; [ $(wc -l < $FAKE/state/looks) -gt 3 ] && cat $FAKE/state/later || cat $FAKE/state/first",
    );
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), full_id('a'));
    assert!(engine.calls_of("inspect").len() > 3);
    assert_eq!(engine.calls_of("run").len(), 0);
}

#[test]
fn one_that_is_leaving_is_none() {
    for state in ["removing", "dead", "unheard-of"] {
        let (engine, world, run) = after_first_use(|_| {});
        engine.have(&[made_by(&run, &full_id('a'), state)]);
        let sandbox = world.sandbox();
        sandbox.ensure().unwrap();
        assert!(sandbox.container().unwrap().is_new, "{state}");
    }
}

#[test]
fn an_engine_that_lists_nothing_useful_has_none() {
    for answer in [
        "exit 1",
        "echo garbage",
        "true",
        "printf 'no tab here\\n\\n'",
    ] {
        let (engine, world, _) = after_first_use(|_| {});
        engine.answer("ps", answer);
        let sandbox = world.sandbox();
        sandbox.ensure().unwrap();
        assert!(sandbox.container().unwrap().is_new, "{answer}");
        assert_eq!(engine.calls_of("inspect").len(), 0, "{answer}");
    }
}

#[test]
fn containers_of_other_homes_and_tasks_are_not_touched() {
    // check 26
    let (engine, world, run) = after_first_use(|_| {});
    let mut other_home = made_by(&run, &full_id('a'), "running");
    other_home["Config"]["Labels"][labels::HOME] = json!("bbbbbbbbbbbb");
    let mut other_task = made_by(&run, &full_id('b'), "exited");
    other_task["Config"]["Labels"][labels::TASK_KEY] = json!("cccccccccccc");
    let mut unlabelled = made_by(&run, &full_id('c'), "running");
    unlabelled["Config"]["Labels"] = json!({"hermes-agent": "1"});
    unlabelled["Mounts"] = json!([
        {"Type": "bind", "Source": "/other/.hermes/sandboxes/docker/default/home", "Destination": "/root"}
    ]);
    let mut temporary = unlabelled.clone();
    temporary["Id"] = json!(full_id('d'));
    temporary["Mounts"] = json!([]);
    engine.have(&[other_home, other_task, unlabelled, temporary]);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert!(sandbox.container().unwrap().is_new);
    for verb in ["rm", "start", "stop", "update", "unpause"] {
        assert_eq!(engine.calls_of(verb).len(), 0, "{verb}");
    }
}

#[test]
fn a_container_of_the_reference_is_known_by_its_files() {
    let (engine, world, run) = after_first_use(|_| {});
    let mut container = made_by(&run, &full_id('a'), "running");
    container["Config"]["Labels"] = json!({
        "hermes-agent": "1", "hermes-task-id": "default", "hermes-profile": "custom",
    });
    engine.have(&[container.clone()]);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), full_id('a'));
    assert_eq!(world.shown.all(), [] as [&str; 0]);

    container["Config"]["Image"] = json!("older");
    engine.have(&[container]);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), full_id('a'));
    let notices = world.shown.all();
    assert!(notices[0].contains("docker_image"), "{notices:?}");
}

#[test]
fn an_engine_that_does_not_show_is_asked_by_labels() {
    let (engine, world, _) = after_first_use(|_| {});
    engine.answer("inspect", "echo garbage");
    let listed = "case \"$*\" in *hermes-owner*) ;; *) printf 'a123456789ab\\trunning\\n';; esac";
    engine.answer("ps", listed);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), "a123456789ab");
    let asked = engine.calls_of("ps")[1].line();
    assert!(asked.contains("label=hermes-home=") && asked.contains("label=hermes-task-key="));

    engine.answer(
        "ps",
        "case \"$*\" in *hermes-home*) ;; *) printf 'a123456789ab\\trunning\\n';; esac",
    );
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert!(sandbox.container().unwrap().is_new, "it may be anyone's");
    assert_eq!(engine.calls_of("rm").len(), 0);
}

#[test]
fn without_a_network_only_a_container_without_one_is_used() {
    // check 24
    let (engine, world, run) = after_first_use(|world| world.settings.network = false);
    assert!(run.line().contains("--network=none"));
    let closed = made_by(&run, &full_id('a'), "running");
    engine.have(std::slice::from_ref(&closed));
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), full_id('a'));

    for network in [json!("bridge"), Value::Null] {
        let mut open = closed.clone();
        open["HostConfig"]["NetworkMode"] = network;
        engine.have(&[open]);
        engine.forget();
        let sandbox = world.sandbox();
        sandbox.ensure().unwrap();
        assert!(sandbox.container().unwrap().is_new);
        assert_eq!(
            engine.calls_of("rm")[0].line(),
            format!("rm -f {}", full_id('a'))
        );
        assert_eq!(engine.calls_of("run").len(), 1);
    }
    assert!(world.shown.all()[0].contains("docker_network"));

    engine.answer("inspect", "echo garbage");
    engine.answer(
        "ps",
        "case \"$*\" in *hermes-owner*) ;; *) printf 'a123456789ab\\trunning\\n';; esac",
    );
    engine.forget();
    world.sandbox().ensure().unwrap();
    assert_eq!(engine.calls_of("rm")[0].line(), "rm -f a123456789ab");
    assert_eq!(engine.calls_of("run").len(), 1);
}

#[test]
fn limits_are_changed_in_place() {
    // check 25
    let (engine, mut world, run) = after_first_use(|_| {});
    engine.have(&[made_by(&run, &full_id('a'), "running")]);
    world.settings.memory_mb = 1024;
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), full_id('a'));
    assert_eq!(
        engine.calls_of("update")[0].line(),
        format!("update --memory 1024m --memory-swap 2048m {}", full_id('a'))
    );
    engine.fail("update", 1, "no");
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(
        id_of(&sandbox),
        full_id('a'),
        "a failed update is no reason to stop"
    );
}

#[test]
fn other_settings_are_told_once_per_process_and_the_container_is_kept() {
    // check 25
    let (engine, mut world, run) = after_first_use(|_| {});
    engine.have(&[made_by(&run, &full_id('a'), "running")]);
    world.settings.image = "other".to_owned();
    let host = world.host();
    for _ in 0..2 {
        let sandbox = hermes_docker::DockerSandbox::new(
            host.clone(),
            hermes_docker::SandboxRequest::of("default"),
        );
        sandbox.ensure().unwrap();
        assert_eq!(id_of(&sandbox), full_id('a'));
    }
    assert_eq!(
        world.shown.all(),
        [
            "sandbox was created with different settings: docker_image; run 'hermes sandbox reset' to apply"
        ]
    );
    world.settings.on_drift = OnDrift::Ignore;
    world.shown.lines.lock().unwrap().clear();
    world.sandbox().ensure().unwrap();
    assert_eq!(world.shown.all(), [] as [&str; 0]);
}

#[test]
fn on_wish_a_container_with_other_settings_is_replaced_unless_work_goes_on_in_it() {
    let (engine, mut world, run) = after_first_use(|_| {});
    engine.have(&[made_by(&run, &full_id('a'), "running")]);
    world.settings.image = "other".to_owned();
    world.settings.on_drift = OnDrift::Recreate;
    for (code, replaced) in [(0, false), (1, false), (9, true)] {
        engine.answer("exec", &format!("exit {code}"));
        engine.forget();
        let sandbox = world.sandbox();
        sandbox.ensure().unwrap();
        assert_eq!(sandbox.container().unwrap().is_new, replaced, "{code}");
        assert_eq!(engine.calls_of("rm").len(), usize::from(replaced), "{code}");
    }
}

#[test]
fn a_volume_taken_away_replaces_the_container() {
    // check 25
    let (engine, mut world, run) = after_first_use(|world| {
        world.settings.volumes = vec!["/tmp:/data".to_owned()];
    });
    engine.have(&[made_by(&run, &full_id('a'), "running")]);
    world.settings.volumes.clear();
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert!(sandbox.container().unwrap().is_new);
    assert_eq!(engine.calls_of("rm").len(), 1);
    engine.have(&[made_by(&run, &full_id('a'), "running")]);
    engine.fail("rm", 1, "busy");
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert!(
        sandbox.container().unwrap().is_new,
        "one that cannot go is not used"
    );
}

#[test]
fn each_bound_directory_has_a_sandbox_of_its_own() {
    let (engine, world, run) = after_first_use(|world| world.settings.mount_cwd = true);
    let bound = format!("{}:/workspace", world.at("project").display());
    assert!(run.args.contains(&bound), "{}", run.line());
    let mut elsewhere = made_by(&run, &full_id('a'), "running");
    for mount in elsewhere["Mounts"].as_array_mut().unwrap() {
        if mount["Destination"] == "/workspace" {
            mount["Source"] = json!("/another/project");
        }
    }
    let here = made_by(&run, &full_id('b'), "exited");
    engine.have(&[elsewhere, here]);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), full_id('b'));
    assert_eq!(engine.calls_of("rm").len(), 0);
    assert_eq!(
        sandbox.start_directory(),
        std::path::Path::new("/workspace")
    );
}

#[test]
fn a_container_that_is_gone_is_found_or_made_again() {
    let (engine, world, run) = after_first_use(|_| {});
    engine.have(&[made_by(&run, &full_id('a'), "running")]);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    let words = "a program said: No such container";
    assert!(matches!(
        sandbox.diagnose(Some(1), words),
        Trouble::Final(_)
    ));
    assert!(sandbox.container().is_some(), "still in use");
    let words = format!(
        "Error response from daemon: No such container: {}",
        full_id('a')
    );
    assert_eq!(sandbox.diagnose(Some(1), &words), Trouble::Gone);
    assert_eq!(sandbox.container(), None);
    engine.have(&[made_by(&run, &full_id('b'), "exited")]);
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), full_id('b'));
    // A late word about the old one leads to the new one and changes nothing.
    assert_eq!(sandbox.diagnose(Some(1), &words), Trouble::Gone);
    assert_eq!(id_of(&sandbox), full_id('b'));
}

#[test]
fn a_paused_container_of_one_process_goes_on_and_an_ended_one_is_given_up() {
    let engine = FakeEngine::new();
    engine.answer(
        "run",
        "echo >> $FAKE/state/runs; echo a123456789ab$(wc -l < $FAKE/state/runs)",
    );
    let mut world = DockerWorld::faked(&engine);
    world.settings.persist_across_processes = false;
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    let first = sandbox.container().unwrap();
    let run = engine.calls_of("run")[0].clone();
    let words = |what: &str| format!("Error response from daemon: Container {} {what}", first.id);
    engine.have(&[made_by(&run, &first.id, "paused")]);
    assert_eq!(
        sandbox.diagnose(Some(1), &words("is paused")),
        Trouble::Gone
    );
    sandbox.ensure().unwrap();
    assert_eq!(sandbox.container(), Some(first.clone()));
    assert_eq!(engine.calls_of("unpause").len(), 1);

    engine.have(&[made_by(&run, &first.id, "exited")]);
    assert_eq!(
        sandbox.diagnose(Some(1), &words("is not running")),
        Trouble::Gone
    );
    sandbox.ensure().unwrap();
    assert_ne!(id_of(&sandbox), first.id);
    assert!(sandbox.host().finish(std::time::Duration::from_secs(20)));
    let removed: Vec<String> = engine.calls_of("rm").iter().map(EngineCall::line).collect();
    assert_eq!(removed, [format!("rm -f {}", first.id)]);
}
