//! What the settings say is what the container is, also when they change.

use hermes_testkit::{EngineImage, RealEngine};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::place::{Place, text};
use crate::recorder::Recorder;

/// check 24
pub(crate) fn a_network_that_is_turned_off_is_off(engine: RealEngine) {
    let place = Place::on(engine);
    place.output("echo kept > /root/file");
    let networked = place.only_id();
    place.configure(json!({"docker_network": false}));
    let outcome = place.exec("ls /sys/class/net; cat /root/file");
    outcome.succeeds().prints("lo\nkept\n");
    outcome
        .says_part("the sandbox is replaced")
        .says_part("docker_network");
    let closed = place.only_id();
    assert_ne!(closed, networked);
    assert_eq!(place.look(&closed, "{{.HostConfig.NetworkMode}}"), "none");
    // It has what it needs: used again, without a word.
    place.exec("true").succeeds().says("");
    assert_eq!(place.only_id(), closed);

    // Whether it has a network cannot be read: it may not be used.
    let recorder = Recorder::of(engine);
    recorder.answer("inspect", "echo 'Error: broken' >&2; exit 1");
    let run = place.recorded(&recorder, &["exec", "--", "ls /sys/class/net"]);
    let outcome = run.run();
    outcome
        .succeeds()
        .prints("lo\n")
        .says_part("the sandbox is replaced");
    let fresh = place.only_id();
    assert_ne!(fresh, closed);

    // Turned on again, a closed container stays.
    place.configure(json!({"docker_network": true}));
    place.exec("true").succeeds();
    assert_eq!(place.only_id(), fresh);
}

/// check 24
pub(crate) fn a_network_in_the_extra_arguments_against_the_setting_is_refused(engine: RealEngine) {
    for args in [json!(["--network=host"]), json!(["--net", "bridge"])] {
        let settings = json!({"docker_network": false, "docker_extra_args": args});
        let place = Place::with(engine, settings);
        let outcome = place.exec("touch /tmp/nobody");
        outcome.exits(1);
        outcome
            .says_part("docker_network")
            .says_part("docker_extra_args");
        assert_eq!(place.ids(), [] as [&str; 0]);
    }
}

/// check 25
pub(crate) fn limits_are_changed_in_the_live_container(engine: RealEngine) {
    let place = Place::with(engine, json!({"container_memory": 512}));
    place.output("true");
    let id = place.only_id();
    // Both generations of control groups; Podman's `inspect` says what was, not what is.
    let memory = "cd /sys/fs/cgroup; cat memory.max memory/memory.limit_in_bytes 2>/dev/null; true";
    let pids = "cd /sys/fs/cgroup; cat pids.max pids/pids.max 2>/dev/null; true";
    let megabyte = 1024 * 1024;
    assert_eq!(place.output(memory), (512 * megabyte).to_string());
    assert_eq!(place.output(pids), "256");
    place.configure(json!({"container_memory": 640}));
    place.exec("true").succeeds().says("");
    assert_eq!(place.output(memory), (640 * megabyte).to_string());
    place.configure(json!({"container_memory": 640, "docker_pids_limit": 100}));
    let changed = place.output(pids);
    // An engine that cannot is no reason to fail; that is logged.
    let log = place.log();
    let refused = log.contains("changing the limits of the sandbox failed");
    assert!(changed == "100" || refused, "{changed}: {log}");
    assert!(engine == RealEngine::Podman || !refused, "{log}");
    assert_eq!(place.only_id(), id);
}

/// check 25
pub(crate) fn a_volume_that_is_taken_away_is_gone(engine: RealEngine) {
    let place = Place::on(engine);
    let shared = place.home.put_outside("shared/file", "here", 0o644);
    let shared = shared.parent().unwrap().display().to_string();
    place.configure(json!({"docker_volumes": [format!("{shared}:/shared")]}));
    assert_eq!(place.output("cat /shared/file"), "here");
    let open = place.only_id();
    // With fewer rights it has to go as well.
    place.configure(json!({"docker_volumes": [format!("{shared}:/shared:ro")]}));
    let outcome = place.exec("cat /shared/file; touch /shared/more || echo closed");
    outcome.succeeds().prints_part("here").prints_part("closed");
    let closed = place.only_id();
    assert_ne!(closed, open);
    place.configure(json!({}));
    let outcome = place.exec("ls /shared 2>/dev/null || echo gone");
    outcome
        .succeeds()
        .prints("gone\n")
        .says_part("docker_volumes");
    assert_ne!(place.only_id(), closed);
}

/// check 25
pub(crate) fn another_image_is_said_once_and_the_container_stays(engine: RealEngine) {
    let place = Place::on(engine);
    place.output("true");
    let id = place.only_id();
    let image = EngineImage::WithoutBash.name_in(engine);
    place.configure(json!({"docker_image": image}));
    let words = "sandbox was created with different settings: docker_image; run 'hermes sandbox \
        reset' to apply";
    let mut talk = place.talk();
    talk.output("true");
    talk.output("true");
    assert_eq!(talk.end(), Some(0));
    assert_eq!(talk.hermes.errors(), [format!("warning: {words}")]);
    assert_eq!(place.only_id(), id);

    place.configure(json!({"docker_image": image, "docker_on_drift": "ignore"}));
    place.exec("true").succeeds().says("");
    assert_eq!(place.only_id(), id);
    assert_eq!(place.listed()[0]["drift"], json!(["docker_image"]));

    place.configure(json!({"docker_image": image, "docker_on_drift": "recreate"}));
    place.exec("true").succeeds();
    assert_ne!(place.only_id(), id);
}

/// check 27
pub(crate) fn it_does_not_matter_which_tool_comes_first(engine: RealEngine) {
    let place = Place::with(
        engine,
        json!({
            "docker_env": {"FROM_ENV": "e", "COUNT": 3, "YES": true},
            "docker_forward_env": ["FORWARDED"],
            "docker_extra_args": ["--hostname", "chosen"],
            "docker_mount_cwd_to_workspace": true,
            "docker_persist_across_processes": false,
        }),
    )
    .env("FORWARDED", "f");
    place
        .home
        .put_outside("work/note.txt", "from the host\n", 0o644);
    let mut talk = place.talk();
    let read = talk.call("read_file", json!({"path": "/workspace/note.txt"}));
    assert!(text(&read, "content").contains("from the host"), "{read}");
    let id = place.only_id();
    let command = "echo $FROM_ENV $COUNT $YES $FORWARDED $(hostname) $PWD";
    assert_eq!(talk.output(command), "e 3 true f chosen /workspace");
    let written = talk.call(
        "write_file",
        json!({"path": "made.txt", "content": "made\n"}),
    );
    assert_eq!(written["error"], Value::Null, "{written}");
    let made = std::fs::read_to_string(place.home.outside("work/made.txt"));
    assert_eq!(made.unwrap(), "made\n");
    let found = talk.call(
        "search_files",
        json!({"pattern": "from the", "path": "/workspace"}),
    );
    assert!(found.to_string().contains("note.txt"), "{found}");
    assert_eq!(place.only_id(), id);
    assert_eq!(talk.end(), Some(0));
    assert_eq!(place.ids(), [] as [&str; 0]);
}

/// check 30
pub(crate) fn volumes_that_cannot_be_are_told_and_left_out(engine: RealEngine) {
    let place = Place::on(engine);
    let missing = place.home.outside("missing");
    std::fs::create_dir(place.home.user_home().join("data")).unwrap();
    place.configure(json!({
        "docker_volumes": ["nocolon", 7, "", "~/data:/data:ro", format!("{}:/m", missing.display())],
    }));
    place.output("ls -d /data; ls -d /m || true");
    let log = place.log();
    let warnings: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("WARNING"))
        .collect();
    let about = |part: &str| warnings.iter().filter(|line| line.contains(part)).count();
    assert_eq!(
        (about("nocolon"), about(" 7 "), about("/missing")),
        (1, 1, 1),
        "{log}"
    );
    assert!(!missing.exists());
    let listed = place.listed();
    let mounts = listed[0]["mounts"].as_array().unwrap();
    let targets: Vec<&Value> = mounts.iter().map(|mount| &mount["target"]).collect();
    assert_eq!(targets.len(), 3, "{targets:?}");
    let data = mounts
        .iter()
        .find(|mount| mount["target"] == "/data")
        .unwrap();
    let source = place.home.user_home().join("data");
    assert_eq!(data["source"], source.display().to_string());
    assert_eq!(data["ro"], true);
}

/// check 30
pub(crate) fn a_volume_below_the_workspace_leaves_the_workspace(engine: RealEngine) {
    let place = Place::on(engine);
    let projects = place.home.put_outside("projects/file", "mine", 0o644);
    let projects = projects.parent().unwrap().display().to_string();
    place.configure(json!({"docker_volumes": [format!("{projects}:/workspace/projects")]}));
    place.output("cat /workspace/projects/file; echo kept > /workspace/own");
    let own = std::fs::read_to_string(place.sandbox("workspace/own"));
    assert_eq!(own.unwrap(), "kept\n");
}

/// check 34
pub(crate) fn an_image_without_bash_runs_commands_with_sh(engine: RealEngine) {
    let image = EngineImage::WithoutBash.name_in(engine);
    let place = Place::with(engine, json!({"docker_image": image}));
    let mut talk = place.talk();
    let result = talk.run("echo hi; cd /tmp; export A=1; exit 4");
    assert_eq!(
        (&result["output"], &result["exit_code"]),
        (&json!("hi"), &json!(4))
    );
    assert!(result.to_string().contains("Bash is missing"), "{result}");
    let result = talk.run("echo $A; pwd");
    assert_eq!(result["output"], "1\n/tmp");
    assert!(!result.to_string().contains("bash"), "{result}");
    let result = talk.terminal(json!({"command": "sleep 338", "timeout": 1}));
    assert_eq!(result["exit_code"], 124, "{result}");
    assert!(!place.runs(&place.only_id(), "sleep 338"));
    // What is said once per process is said in the next one.
    place.exec("true").succeeds().says_part("Bash is missing");
}

/// check 34
pub(crate) fn an_image_with_an_init_of_its_own_gets_none_from_us(engine: RealEngine) {
    let image = EngineImage::S6.name_in(engine);
    let place = Place::with(engine, json!({"docker_image": image}));
    assert_eq!(
        place.output("cp /bin/busybox /run/ && /run/busybox echo runs"),
        "runs"
    );
    let id = place.only_id();
    let processes = place.processes(&id);
    assert!(
        !processes.iter().any(|line| line.contains("init --")),
        "{processes:?}"
    );
    let ordinary = Place::on(engine);
    ordinary.output("true");
    let processes = ordinary.processes(&ordinary.only_id());
    assert!(
        processes.iter().any(|line| line.contains("init --")),
        "{processes:?}"
    );
}
