//! The life of a container with the real engine.

use std::time::Duration;

use hermes_docker::Removal;
use hermes_terminal::remote::{Transport, Trouble};
use hermes_testkit::{EngineImage, RealEngine};
use pretty_assertions::assert_eq;

use crate::docker_world::{DockerWorld, id_of, run_in};

fn state_of(id: &str) -> String {
    RealEngine::Docker
        .ask(&["inspect", "--format", "{{.State.Status}}", id])
        .1
}

#[test]
fn the_walls_stand_as_designed() {
    // check 3
    let world = DockerWorld::real();
    let sandbox = world.sandbox();
    let (code, status) = run_in(&sandbox, "grep -E 'CapEff|NoNewPrivs' /proc/self/status");
    assert_eq!(code, 0, "{status}");
    assert!(status.contains("00000000000000cb"), "{status}");
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let copied = |place: &str| {
        let line = format!("cp /bin/busybox {place}/ && {place}/busybox true");
        run_in(&sandbox, &line).0
    };
    assert_eq!(copied("/tmp"), 0);
    assert_eq!(copied("/var/tmp"), 126);
    let (_, place) = run_in(&sandbox, "pwd; echo $HOME");
    assert_eq!(place, "/root\n/root");
}

#[test]
fn a_host_user_owns_what_it_makes() {
    // check 2
    let mut world = DockerWorld::real();
    world.settings.run_as_host_user = true;
    let sandbox = world.sandbox();
    let (code, text) = run_in(&sandbox, "touch /workspace/made && echo $HOME");
    assert_eq!((code, text.as_str()), (0, "/root"));
    let made = world.home().join("sandboxes/docker/default/workspace/made");
    let meta = std::fs::metadata(made).unwrap();
    let uid = std::os::unix::fs::MetadataExt::uid(&meta);
    assert_eq!(uid, rustix::process::getuid().as_raw());
    world.settings.container_persistent = false;
    let temporary = world.sandbox_of("temporary");
    let (code, text) = run_in(
        &temporary,
        "touch /root/x /workspace/x /home/x && stat -c %u /root",
    );
    assert_eq!((code, text), (0, uid.to_string()));
}

#[test]
fn a_second_process_finds_the_container_of_the_first() {
    // check 5
    let world = DockerWorld::real();
    let first = world.sandbox();
    run_in(
        &first,
        "sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > /root/pid",
    );
    let second = world.sandbox();
    let (code, text) = run_in(&second, "kill -0 $(cat /root/pid)");
    assert_eq!((code, text.as_str()), (0, ""));
    assert_eq!(id_of(&first), id_of(&second));
    assert!(!second.container().unwrap().is_new);
    assert_eq!(world.containers().len(), 1);
    assert_eq!(world.shown.all(), [] as [&str; 0], "nothing has changed");
}

#[test]
fn a_stopped_container_is_started_again() {
    // check 6
    let world = DockerWorld::real();
    let first = world.sandbox();
    run_in(&first, "echo kept > /root/file; echo lost > /tmp/file");
    RealEngine::Docker.ask(&["stop", "-t", "0", &id_of(&first)]);
    let second = world.sandbox();
    let (_, text) = run_in(&second, "cat /root/file; ls /tmp");
    assert_eq!(text, "kept");
    assert_eq!(id_of(&first), id_of(&second));
}

#[test]
fn a_paused_container_goes_on() {
    // check 7
    let world = DockerWorld::real();
    let first = world.sandbox();
    first.ensure().unwrap();
    let id = id_of(&first);
    RealEngine::Docker.ask(&["pause", &id]);
    let second = world.sandbox();
    assert_eq!(run_in(&second, "echo on"), (0, "on".to_owned()));
    assert_eq!(id_of(&second), id);
    assert_eq!(world.containers().len(), 1);
    RealEngine::Docker.ask(&["pause", &id]);
    let (code, words) = run_in(&first, "true");
    assert_ne!(code, 0);
    assert_eq!(first.diagnose(Some(code), &words), Trouble::Gone, "{words}");
    assert_eq!(run_in(&first, "echo again"), (0, "again".to_owned()));
    assert_eq!(id_of(&first), id);
}

#[test]
fn a_container_removed_under_our_feet_is_made_again() {
    for shared in [true, false] {
        let mut world = DockerWorld::real();
        world.settings.persist_across_processes = shared;
        let sandbox = world.sandbox();
        sandbox.ensure().unwrap();
        let old = id_of(&sandbox);
        RealEngine::Docker.ask(&["rm", "-f", &old]);
        let (code, words) = run_in(&sandbox, "true");
        assert_eq!(
            sandbox.diagnose(Some(code), &words),
            Trouble::Gone,
            "{words}"
        );
        assert_eq!(run_in(&sandbox, "echo new"), (0, "new".to_owned()));
        assert_ne!(id_of(&sandbox), old);
    }
}

#[test]
fn a_command_that_speaks_like_the_engine_changes_nothing() {
    let world = DockerWorld::real();
    let sandbox = world.sandbox();
    let (code, text) = run_in(&sandbox, "echo 'foo is not running' >&2; exit 3");
    assert!(matches!(
        sandbox.diagnose(Some(code), &text),
        Trouble::Final(_)
    ));
    assert!(sandbox.container().is_some());
}

#[test]
fn given_up_it_is_gone_and_its_files_stay() {
    let mut world = DockerWorld::real();
    world.settings.persist_across_processes = false;
    let sandbox = world.sandbox();
    run_in(&sandbox, "echo kept > /root/file");
    let id = id_of(&sandbox);
    assert_eq!(state_of(&id), "running");
    sandbox.cleanup(Removal::AsConfigured);
    assert!(sandbox.host().finish(Duration::from_mins(1)));
    assert_eq!(world.containers(), [] as [&str; 0]);
    assert!(
        world
            .home()
            .join("sandboxes/docker/default/home/file")
            .exists()
    );
}

#[test]
fn a_bad_image_leaves_nothing() {
    // check 33
    let mut world = DockerWorld::real();
    world.settings.image = "localhost:1/no/such-image:1".to_owned();
    let error = world.sandbox().ensure().unwrap_err();
    assert!(
        error.message.contains("localhost:1/no/such-image:1"),
        "{error}"
    );
    assert!(!error.message.contains("--cap-drop"), "{error}");
    assert_eq!(world.containers(), [] as [&str; 0]);
}

#[test]
fn a_container_that_cannot_start_leaves_nothing() {
    let mut world = DockerWorld::real();
    world.settings.extra_args = vec!["--runtime=no-such-runtime".to_owned()];
    let error = world.sandbox().ensure().unwrap_err();
    assert!(error.message.contains("no-such-runtime"), "{error}");
    assert_eq!(world.containers(), [] as [&str; 0]);
}

#[test]
fn an_s6_image_runs_with_its_own_init() {
    // check 34
    let mut world = DockerWorld::real();
    EngineImage::S6.name().clone_into(&mut world.settings.image);
    let sandbox = world.sandbox();
    assert_eq!(
        run_in(&sandbox, "cp /bin/busybox /run/ && /run/busybox true").0,
        0
    );
    let (_, init) = RealEngine::Docker.ask(&[
        "inspect",
        "--format",
        "{{.HostConfig.Init}}",
        &id_of(&sandbox),
    ]);
    assert_ne!(init, "true");
    let (_, first) = run_in(&sandbox, "tr '\\0' ' ' < /proc/1/cmdline");
    assert!(first.starts_with("sleep infinity"), "{first}");
}

#[test]
fn the_current_directory_is_the_workspace() {
    let mut world = DockerWorld::real();
    world.settings.mount_cwd = true;
    std::fs::write(world.at("project/here"), "x").unwrap();
    let sandbox = world.sandbox();
    assert_eq!(
        run_in(&sandbox, "pwd; ls"),
        (0, "/workspace\nhere".to_owned())
    );
    let map = sandbox.path_map().unwrap();
    let inside = map.to_container(&world.at("project/here"));
    assert_eq!(inside, Some("/workspace/here".into()));
}

#[test]
fn variables_and_mounts_arrive() {
    let mut world = DockerWorld::real();
    world.settings.env = [("PLAIN".to_owned(), "a b".to_owned())].into();
    std::fs::create_dir_all(world.home().join("skills/one")).unwrap();
    std::fs::write(world.home().join("skills/one/SKILL.md"), "skill").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", world.home().join("skills/link")).unwrap();
    std::fs::write(world.home().join("google_token.json"), "token").unwrap();
    world.settings.credential_files = vec!["google_token.json".to_owned()];
    let sandbox = world.sandbox();
    let (code, text) = run_in(
        &sandbox,
        "cd /root/.hermes; echo $PLAIN; cat google_token.json skills/one/SKILL.md; ls skills; echo x > google_token.json",
    );
    assert_ne!(code, 0, "read-only");
    assert!(text.starts_with("a b\ntokenskillone\n"), "{text}");
}

#[test]
fn a_dead_container_of_another_image_gives_way_to_the_image_that_is_set() {
    let mut world = DockerWorld::real();
    let good = world.settings.image.clone();
    EngineImage::Swallows
        .name()
        .clone_into(&mut world.settings.image);
    let dead = world.sandbox();
    dead.ensure().unwrap();
    let dead = id_of(&dead);
    hermes_testkit::eventually("it ends", || state_of(&dead) == "exited");
    good.clone_into(&mut world.settings.image);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), dead, "it is found and started");
    let words = format!("Error response from daemon: Container {dead} is not running");
    assert_eq!(sandbox.diagnose(Some(1), &words), Trouble::Gone);
    assert_eq!(run_in(&sandbox, "echo runs"), (0, "runs".to_owned()));
    assert_eq!(world.containers(), [id_of(&sandbox)]);
    let told = world.shown.all().join("\n");
    assert!(told.contains("as soon as it was started"), "{told}");
}

#[test]
fn a_client_that_ends_with_its_container_has_lost_it() {
    let world = DockerWorld::real();
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    let id = id_of(&sandbox);
    let trouble = sandbox.diagnose(Some(137), "");
    assert!(matches!(trouble, Trouble::Final(_)), "{trouble:?}");
    RealEngine::Docker.demand(&["kill", &id]);
    assert_eq!(sandbox.diagnose(Some(137), ""), Trouble::Gone);
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), id, "it was only stopped");
    RealEngine::Docker.demand(&["rm", "-f", &id]);
    assert_eq!(sandbox.diagnose(None, ""), Trouble::Gone);
}
