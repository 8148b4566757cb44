//! Making containers, against an engine that notes its calls.

use hermes_docker::{
    Circumstance, DockerError, DockerSandbox, InitSource, SandboxRequest, run_arguments,
};
use hermes_terminal::remote::Transport;
use hermes_testkit::FakeEngine;
use pretty_assertions::assert_eq;

use crate::docker_world::{DockerWorld, FakeEngineExt, full_id, made_by};
use crate::engine_mounts::settings;

const PLAIN: Circumstance = Circumstance {
    init: InitSource::Engine,
    limits: true,
    quota: false,
};

fn verbs(engine: &FakeEngine) -> Vec<String> {
    let calls = engine.calls();
    calls.iter().map(|call| call.args[0].clone()).collect()
}

#[test]
fn a_first_use_probes_looks_at_the_image_and_runs() {
    // check 1
    let engine = FakeEngine::new();
    let world = DockerWorld::faked(&engine);
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    sandbox.ensure().unwrap();
    assert_eq!(verbs(&engine), ["ps", "version", "image", "info", "run"]);
    assert_eq!(
        engine.calls_of("ps")[0].line(),
        "ps -a --filter label=hermes-agent=1 --filter label=hermes-task-id=default \
         --filter label=hermes-profile=custom --format {{.ID}}\t{{.State}}"
    );
    let plan = sandbox.host().plan(sandbox.request()).unwrap();
    let container = sandbox.container().unwrap();
    assert_eq!(
        engine.calls_of("run")[0].args,
        run_arguments(&plan, &container.name, None, PLAIN)
    );
    assert!(container.is_new);
    assert!(world.home().join("sandboxes/docker/default/home").is_dir());
    assert!(
        world
            .home()
            .join("sandboxes/docker/default/.last_used")
            .is_file()
    );
    assert_eq!(sandbox.describe(), format!("container {}", container.name));
    let launch = sandbox.launch(&["bash", "-c", "x y"]).unwrap();
    assert_eq!(launch.program, engine.program());
    assert_eq!(
        launch.args,
        ["exec", "-i", container.id.as_str(), "bash", "-c", "x y"]
    );
}

#[test]
fn the_engine_gets_the_real_home_and_its_own_variables() {
    let engine = FakeEngine::new();
    engine.answer(
        "version",
        "[ \"$HOME\" = USER ] || exit 1; echo ok"
            .replace("USER", "\"$(cat $FAKE/state/user)\"")
            .as_str(),
    );
    let mut world = DockerWorld::faked(&engine);
    let user = world.at("user").display().to_string();
    std::fs::write(engine.state().join("user"), user).unwrap();
    std::fs::create_dir(world.home().join("home")).unwrap();
    std::fs::write(
        world.home().join("config.yaml"),
        "terminal: {home_mode: profile}\nproviders: {x: {api_key: '${DOCKER_AUTH_KEY}'}}\n",
    )
    .unwrap();
    for name in ["DOCKER_CONFIG", "DOCKER_AUTH_KEY", "CONTAINER_HOST"] {
        world.set(name, "x");
    }
    world.set("GITHUB_TOKEN", "not-for-engines");
    world.host().check().unwrap();
    let variables = &engine.calls()[0].variables;
    for name in [
        "DOCKER_CONFIG",
        "DOCKER_AUTH_KEY",
        "CONTAINER_HOST",
        "HOME",
        "PATH",
    ] {
        assert!(
            variables.iter().any(|known| known == name),
            "{name} in {variables:?}"
        );
    }
    assert!(!variables.iter().any(|known| known == "GITHUB_TOKEN"));
}

#[test]
fn a_host_user_has_no_right_to_change_users() {
    // check 2, arguments
    let engine = FakeEngine::new();
    let mut world = DockerWorld::faked(&engine);
    world.settings.run_as_host_user = true;
    world.sandbox().ensure().unwrap();
    let line = engine.calls_of("run")[0].line();
    let user = format!(
        "--user {}:{} -v",
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw()
    );
    assert!(line.contains(&user), "{line}");
    assert!(
        line.contains("-e HOME=/root") && !line.contains("SETUID"),
        "{line}"
    );
}

#[test]
fn labels_and_directory_of_an_odd_task() {
    // check 4
    let engine = FakeEngine::new();
    let world = DockerWorld::faked(&engine);
    world.sandbox_of("task/with:weird*chars").ensure().unwrap();
    let line = engine.calls_of("run")[0].line();
    assert!(
        line.contains("--label hermes-task-id=task_with_weird_chars "),
        "{line}"
    );
    let boxes = world.home().join("sandboxes/docker");
    let names: Vec<_> = std::fs::read_dir(&boxes)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["task_with_weird_chars"]);
}

#[test]
fn without_sharing_nothing_is_looked_for_and_the_owner_is_written_down() {
    let engine = FakeEngine::new();
    let mut world = DockerWorld::faked(&engine);
    world.settings.persist_across_processes = false;
    let (one, other) = (world.sandbox(), world.sandbox());
    one.ensure().unwrap();
    other.ensure().unwrap();
    assert_eq!(engine.calls_of("ps").len(), 0);
    let runs = engine.calls_of("run");
    assert!(
        runs.iter()
            .all(|run| run.line().contains("--label hermes-owner="))
    );
    assert_ne!(
        one.container().unwrap().name,
        other.container().unwrap().name
    );
}

#[test]
fn a_missing_image_is_fetched_with_progress_before_anything_is_made() {
    let engine = FakeEngine::new();
    engine.answer(
        "image-inspect",
        "[ -e $FAKE/state/pulled ] && echo null && exit; echo 'Error response from daemon: No such image: x' >&2; exit 1",
    );
    engine.answer(
        "pull",
        "echo layer one; echo layer two; touch $FAKE/state/pulled",
    );
    let world = DockerWorld::faked(&engine);
    world.sandbox().ensure().unwrap();
    assert_eq!(
        verbs(&engine),
        ["ps", "version", "image", "pull", "image", "info", "run"]
    );
    let shown = world.shown.all();
    assert!(
        shown.contains(&"progress: layer two".to_owned()),
        "{shown:?}"
    );
}

#[test]
fn an_image_that_cannot_be_had_is_told_in_the_registrys_words() {
    // check 33
    let engine = FakeEngine::new();
    engine.fail(
        "image-inspect",
        1,
        "Error response from daemon: No such image: nope",
    );
    engine.fail(
        "pull",
        1,
        "Error response from daemon: manifest for nope:latest not found: manifest unknown\n",
    );
    let mut world = DockerWorld::faked(&engine);
    world.settings.image = "nope".to_owned();
    let bad = world.sandbox_of("t");
    let error = bad.ensure().unwrap_err();
    assert!(error.message.contains("manifest unknown"), "{error}");
    assert!(!error.is_missing_part);
    assert_eq!(
        engine.calls_of("run").len() + engine.calls_of("rm").len(),
        0
    );
    engine.forget();
    drop(bad);
    assert_eq!(engine.calls(), [], "nothing to clean up");
    engine.print("image-inspect", "null");
    let good = world.sandbox_of("t");
    good.ensure().unwrap();
    assert!(
        engine.calls_of("run")[0]
            .line()
            .contains("--cpus 1 --memory 5120m")
    );
}

#[test]
fn a_failed_run_leaves_no_container_and_no_secret_in_its_error() {
    let engine = FakeEngine::new();
    engine.fail(
        "run",
        125,
        "docker: unknown flag in: run -d -e TOKEN=s3cret-value img\nRun 'docker run --help' for more information\n",
    );
    let mut world = DockerWorld::faked(&engine);
    world.settings.env = [("TOKEN".to_owned(), "s3cret-value".to_owned())].into();
    for shared in [true, false] {
        world.settings.persist_across_processes = shared;
        engine.forget();
        let error = world.sandbox().ensure().unwrap_err();
        assert!(error.message.contains("unknown flag"), "{error}");
        assert!(!error.message.contains("s3cret"), "{error}");
        assert!(!error.message.contains("--cap-drop"), "{error}");
        let run = engine.calls_of("run")[0].clone();
        let name = &run.args[run.args.iter().position(|arg| arg == "--name").unwrap() + 1];
        assert_eq!(engine.calls_of("rm")[0].line(), format!("rm -f {name}"));
    }
}

#[test]
fn a_failed_run_does_not_remove_what_another_process_runs_under_that_name() {
    let engine = FakeEngine::new();
    let world = DockerWorld::faked(&engine);
    world.sandbox().ensure().unwrap();
    let run = engine.calls_of("run")[0].clone();
    let other = made_by(&run, &full_id('a'), "running");
    engine.have(&[other]);
    engine.print("ps", "");
    engine.fail("run", 125, "docker: something else went wrong");
    engine.forget();
    world.sandbox().ensure().unwrap_err();
    assert_eq!(engine.calls_of("rm").len(), 0);
}

#[test]
fn an_engine_without_limits_is_tried_without_and_remembered() {
    let engine = FakeEngine::new();
    engine.answer(
        "run",
        "case \"$*\" in *--cpus*) echo 'the cgroup controller `cpu` is not available' >&2; exit 126;; esac; echo abcdef012345",
    );
    let mut world = DockerWorld::faked(&engine);
    world.settings.persist_across_processes = false;
    let host = world.host();
    let sandbox = |task: &str| DockerSandbox::new(host.clone(), SandboxRequest::of(task));
    let (first, second) = (sandbox("a"), sandbox("b"));
    first.ensure().unwrap();
    second.ensure().unwrap();
    let limited: Vec<bool> = engine
        .calls_of("run")
        .iter()
        .map(|run| run.line().contains("--pids-limit"))
        .collect();
    assert_eq!(limited, [true, false, false]);
    let notices = world.shown.all();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("without") && notices[0].contains("cgroup controller"));
}

#[test]
fn required_limits_are_an_error_and_other_trouble_costs_no_limits() {
    let engine = FakeEngine::new();
    engine.fail("run", 126, "cgroup mountpoint does not exist");
    let mut world = DockerWorld::faked(&engine);
    world.settings.require_limits = true;
    let error = world.sandbox().ensure().unwrap_err();
    assert!(error.hint.unwrap().contains("docker_require_limits"));
    assert_eq!(engine.calls_of("run").len(), 1);

    world.settings.require_limits = false;
    let host = world.host();
    let sandbox = DockerSandbox::new(host, SandboxRequest::of("a"));
    sandbox.ensure().unwrap_err();
    assert_eq!(world.shown.all(), [] as [&str; 0], "nothing was proved");
    engine.answer("run", "echo abcdef012345");
    engine.forget();
    sandbox.ensure().unwrap();
    assert!(
        engine.calls_of("run")[0]
            .line()
            .contains("--pids-limit 256")
    );
}

#[test]
fn a_limit_of_the_disk_is_tried_only_where_it_can_work() {
    let engine = FakeEngine::new();
    engine.print("info", "overlay2\t[[\"Backing Filesystem\",\"xfs\"]]\n");
    engine.answer(
        "run",
        "case \"$*\" in *--storage-opt*) echo '--storage-opt is supported only for overlay over xfs with pquota mount option' >&2; exit 125;; esac; echo abcdef012345",
    );
    let mut world = DockerWorld::faked(&engine);
    world.sandbox().ensure().unwrap();
    let runs = engine.calls_of("run");
    assert!(
        runs[0]
            .line()
            .contains("--pids-limit 256 --storage-opt size=51200m")
    );
    assert!(!runs[1].line().contains("--storage-opt"));
    assert_eq!(runs.len(), 2);
    engine.print("info", "overlay2\t[[\"Backing Filesystem\",\"extfs\"]]\n");
    engine.forget();
    world.sandbox().ensure().unwrap();
    assert!(!engine.calls_of("run")[0].line().contains("--storage-opt"));
    world.settings.disk_mb = 0;
    engine.forget();
    world.sandbox().ensure().unwrap();
    assert_eq!(engine.calls_of("info").len(), 0, "nobody wants a limit");
}

#[test]
fn an_s6_image_keeps_its_init() {
    // check 34
    let engine = FakeEngine::new();
    engine.print("image-inspect", "[\"/init\"]\n");
    let world = DockerWorld::faked(&engine);
    world.sandbox().ensure().unwrap();
    let line = engine.calls_of("run")[0].line();
    assert!(line.starts_with("run -d --name"), "{line}");
    assert!(
        line.contains("--tmpfs /run:rw,exec,nosuid,size=64m"),
        "{line}"
    );
}

#[test]
fn an_engine_without_an_init_is_used_without() {
    let engine = FakeEngine::new();
    engine.answer(
        "run",
        "case \"$*\" in *--init*) echo 'Error: container-init binary not found on the host' >&2; exit 125;; esac; echo abcdef012345",
    );
    let mut world = DockerWorld::faked(&engine);
    world.sandbox().ensure().unwrap();
    assert_eq!(engine.calls_of("run").len(), 2);
    world.settings.init = hermes_docker::InitMode::Fixed(true);
    let error = world.sandbox().ensure().unwrap_err();
    assert!(
        error.message.contains("container-init"),
        "asked for: {error}"
    );
}

#[test]
fn a_network_in_spite_of_none_is_an_error_and_makes_nothing() {
    // check 24
    let engine = FakeEngine::new();
    let mut world = DockerWorld::faked(&engine);
    world.settings.network = false;
    world.settings.extra_args = vec!["--network=host".to_owned()];
    let error = world.sandbox().ensure().unwrap_err();
    assert!(error.message.contains("docker_network"), "{error}");
    assert!(error.message.contains("docker_extra_args"), "{error}");
    assert_eq!(engine.calls(), []);
}

#[test]
fn arguments_that_weaken_are_told_once_and_passed_on_last() {
    let engine = FakeEngine::new();
    let mut world = DockerWorld::faked(&engine);
    world.settings.extra_args = vec!["--privileged".to_owned()];
    let host = world.host();
    for task in ["a", "b"] {
        let sandbox = DockerSandbox::new(host.clone(), SandboxRequest::of(task));
        sandbox.ensure().unwrap();
        assert_eq!(
            sandbox.host_access().unwrap(),
            ["docker_extra_args: --privileged"]
        );
    }
    let line = engine.calls_of("run")[0].line();
    assert!(line.contains(" --privileged nikolaik/"), "{line}");
    assert_eq!(world.shown.all().len(), 1, "{:?}", world.shown.all());
}

#[test]
fn an_engine_that_cannot_be_used_is_told_with_the_way_out() {
    // check 32
    let engine = FakeEngine::new();
    engine.answer(
        "version",
        "echo 'Client: x'; echo 'Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?' >&2; exit 1",
    );
    engine.fail("ps", 1, "Cannot connect to the Docker daemon");
    let mut world = DockerWorld::faked(&engine);
    let error = world.sandbox().ensure().unwrap_err();
    assert!(error.is_missing_part && error.hint.unwrap().contains("start the daemon"));
    engine.fail("version", 1, "warning\npermission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock\n");
    let error = world.sandbox().ensure().unwrap_err();
    assert!(error.message.contains("permission denied"), "{error}");
    assert!(error.hint.unwrap().contains("group `docker`"));
    engine.fail("version", 3, "line one\nit is broken\n");
    let error = world.host().check().unwrap_err();
    assert!(error.to_string().contains("it is broken"), "{error}");

    let unusable = world.at("unusable");
    std::fs::write(&unusable, "#!/nonexistent/interpreter\n").unwrap();
    std::fs::set_permissions(
        &unusable,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    world.set("HERMES_DOCKER_BINARY", &unusable.display().to_string());
    let error = world.host().check().unwrap_err();
    assert!(
        matches!(error, DockerError::NotExecutable { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("unusable"), "{error}");
    world.set("HERMES_DOCKER_BINARY", "no-such-engine");
    let error = world.try_host().unwrap_err();
    assert!(
        error.to_string().contains("HERMES_DOCKER_BINARY"),
        "{error}"
    );
    assert!(error.is_missing_part());
}

#[test]
fn a_bare_name_is_looked_up() {
    // check 32
    let engine = FakeEngine::new();
    let mut world = DockerWorld::faked(&engine);
    let bin = world.at("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(engine.program(), bin.join("podman")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    world.set("PATH", &path);
    world.set("HERMES_DOCKER_BINARY", "podman");
    let host = world.host();
    assert_eq!(host.engine().program(), bin.join("podman"));
    assert_eq!(
        host.check().unwrap().kind,
        hermes_docker::EngineKind::Podman
    );
}

#[test]
fn stale_values_are_errors_here_and_name_themselves() {
    // check 31
    let engine = FakeEngine::new();
    let world = DockerWorld::faked(&engine);
    for (name, value) in [
        ("TERMINAL_DOCKER_VOLUMES", "/a:/b"),
        ("TERMINAL_CONTAINER_CPU", "lots"),
        ("TERMINAL_DOCKER_EXTRA_ARGS", "\"--privileged\""),
    ] {
        let error = settings(&world, "", &[(name, value)])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(name) && error.lines().count() == 1,
            "{error}"
        );
    }
}
