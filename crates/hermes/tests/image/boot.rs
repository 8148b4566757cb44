//! What a boot does to the volume, and to nothing else.

use pretty_assertions::assert_eq;

use crate::container::{Container, Volume, json, run};

/// Owner and mode of something, as `stat` shows them.
fn owner(container: &Container, path: &str) -> String {
    container.must(&format!("stat -c '%u:%g %a' {path}"))
}

#[test]
fn a_new_volume_becomes_a_home() {
    let container = Container::boot(&[], &["sleep", "infinity"]);
    for (path, expected) in [
        ("/opt/data", "10000:10000 755"),
        ("/opt/data/profiles", "10000:10000 700"),
        ("/opt/data/lazy-packages", "10000:10000 700"),
        ("/opt/data/.env", "10000:10000 600"),
        ("/opt/data/config.yaml", "10000:10000 640"),
        ("/opt/data/SOUL.md", "10000:10000 600"),
        ("/opt/data/logs/container-boot.log", "10000:10000 600"),
    ] {
        assert_eq!(owner(&container, path), expected, "{path}");
    }
    assert_eq!(
        container
            .exec("find /opt/data ! -user hermes ! -name .container-ownership.json")
            .stdout,
        ""
    );
    let log = container.must("cat /opt/data/logs/container-boot.log");
    assert!(
        log.contains("[stage2] Setup complete; starting user services"),
        "{log}"
    );
    assert!(
        log.contains(" profile=default prior_state=None action=registered"),
        "{log}"
    );
    // A home that was made is a home that works.
    let doctor = container.exec("hermes config check");
    assert_eq!(doctor.code, 0, "{doctor:?}");
}

// check 33
#[test]
fn numbers_of_the_runtime_user_follow_the_volume() {
    let volume = Volume::new();
    volume.root("mkdir -p /opt/data/profiles/coder /opt/data/mine/deep && touch /opt/data/profiles/coder/SOUL.md /opt/data/mine/deep/file /opt/data/notes.txt /opt/data/config.yaml && chown 4242:4242 /opt/data/mine/deep/file /opt/data/notes.txt && chown 0:0 /opt/data");
    let mount = volume.mounted();
    let options = [
        mount.as_str(),
        "--env=HERMES_UID=99",
        "--env=HERMES_GID=100",
    ];
    let container = Container::boot(&options, &["sleep", "infinity"]);
    assert_eq!(container.must("id -u; id -g"), "99\n100");
    for path in [
        "",
        "/config.yaml",
        "/profiles/coder/SOUL.md",
        "/SOUL.md",
        "/logs",
    ] {
        let ids = owner(&container, &format!("/opt/data{path}"));
        assert!(ids.starts_with("99:100 "), "{path}: {ids}");
    }
    for path in ["/mine/deep/file", "/notes.txt"] {
        let ids = owner(&container, &format!("/opt/data{path}"));
        assert!(ids.starts_with("4242:4242 "), "{path}: {ids}");
    }
    // What root adds later is handed over at the next boot.
    container.as_root("touch /opt/data/profiles/coder/late && mkdir -p /opt/data/cron/x");
    container.restart();
    container.wait_until_ready(2);
    for path in ["/profiles/coder/late", "/cron/x"] {
        let ids = owner(&container, &format!("/opt/data{path}"));
        assert!(ids.starts_with("99:100 "), "{path}: {ids}");
    }
}

// check 33
#[test]
fn users_that_cannot_run_here_are_refused_with_advice() {
    let ran = run(&["--user=1000"], &["true"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    for word in ["1000", "HERMES_UID", "HERMES_GID", "PUID", "PGID"] {
        assert!(ran.stderr.contains(word), "{word}: {ran:?}");
    }
}

// check 33
#[test]
fn without_the_right_to_change_owners_it_boots_with_warnings() {
    let volume = Volume::new();
    volume.root(
        "mkdir -p /opt/data/cron && touch /opt/data/cron/foreign && chown -R 4242:4242 /opt/data",
    );
    let mount = volume.mounted();
    let ran = run(&["--cap-drop=CHOWN", &mount], &["sh", "-c", "exit 6"]);
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(
        ran.stderr.contains("could not be handed to 10000:10000"),
        "{ran:?}"
    );

    // On a volume that is the runtime user's, everything works.
    let container = Container::boot(&["--cap-drop=CHOWN"], &["sleep", "infinity"]);
    container.must("hermes profile create worker --no-alias && hermes -p worker gateway start");
    container.must("hermes -p worker gateway status && hermes -p worker gateway stop");
    container.must("hermes profile delete worker --yes");
}

#[test]
fn odd_numbers_are_told_and_ignored() {
    let ran = run(
        &["--env=HERMES_UID=abc", "--env=PGID=0"],
        &["sh", "-c", "id -u; id -g"],
    );
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "10000\n10000"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("HERMES_UID is ignored: 'abc'"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("PGID is ignored: '0'"), "{ran:?}");
}

#[test]
fn a_read_only_volume_is_still_good_for_looking_at() {
    let volume = Volume::new();
    let (mount, read_only) = (volume.mounted(), volume.mounted_read_only());
    run(
        &[&mount],
        &["hermes", "config", "set", "terminal.timeout", "99"],
    );
    let ran = run(
        &[&read_only],
        &["hermes", "config", "get", "terminal.timeout"],
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "99"), "{ran:?}");
    assert!(ran.stderr.contains("[stage2] warning: "), "{ran:?}");
    let empty = Volume::new();
    let ran = run(&[&empty.mounted_read_only()], &["sh", "-c", "exit 9"]);
    assert_eq!(ran.code, 9, "{ran:?}");
}

#[test]
fn a_volume_of_nobody_is_taken_over_and_a_full_one_is_told() {
    let volume = Volume::new();
    volume.root("chown 65534:65534 /opt/data && chmod 700 /opt/data");
    let ran = run(
        &[&volume.mounted()],
        &["sh", "-c", "touch mine && stat -c %U /opt/data"],
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "hermes"), "{ran:?}");

    let full = Volume::with_options(&["type=tmpfs", "device=tmpfs", "o=size=64k"]);
    let mount = full.mounted();
    let script = "dd if=/dev/zero of=/opt/data/fill bs=1k count=100 2>/dev/null; exit 11";
    let container = Container::start(&[&mount], &["sh", "-c", script]);
    assert_eq!(container.wait(), 11, "{}", container.logs());
    let container = Container::start(
        &["--tmpfs=/opt/data:size=4k,uid=10000"],
        &["sh", "-c", "exit 12"],
    );
    assert_eq!(container.wait(), 12, "{}", container.logs());
    let logs = container.logs();
    assert!(logs.contains("[stage2] warning: "), "{logs}");
}

// checks 33 and 34
#[test]
fn a_login_is_handed_in_once_and_not_through_a_link() {
    let volume = Volume::new();
    let mount = volume.mounted();
    let options = [
        mount.as_str(),
        "--env=HERMES_AUTH_JSON_BOOTSTRAP={\"a\":1}",
        "--cap-add=SYS_PTRACE",
        "--env=HERMES_GATEWAY_BOOTSTRAP_STATE=running",
    ];
    let container = Container::boot(&options, &["sleep", "infinity"]);
    assert_eq!(container.must("cat auth.json"), "{\"a\":1}");
    assert_eq!(owner(&container, "/opt/data/auth.json"), "10000:10000 600");
    container.wait_for("hermes gateway status >/dev/null");
    // Gateways hide their memory from all who may not trace them.
    let status = json(&container.must("hermes gateway status --json"));
    let script = format!("tr '\\0' '\\n' < /proc/{}/environ", status["pids"][0]);
    let variables = container.as_root(&script);
    assert!(
        variables.stdout.contains("HERMES_HOME=/opt/data"),
        "{variables:?}"
    );
    assert!(
        !variables.stdout.contains("HERMES_AUTH_JSON_BOOTSTRAP"),
        "{variables:?}"
    );
    assert_eq!(
        container
            .as_root("ls /run/s6/container_environment | grep AUTH_JSON")
            .code,
        1
    );

    container.must("echo '{\"a\":2}' > auth.json");
    container.restart();
    container.wait_until_ready(2);
    assert_eq!(container.must("cat auth.json"), "{\"a\":2}");
}

#[test]
fn a_broken_login_and_links_are_left_alone() {
    let volume = Volume::new();
    let mount = volume.mounted();
    let ran = run(
        &[&mount, "--env=HERMES_AUTH_JSON_BOOTSTRAP={oops"],
        &["sh", "-c", "ls auth.json"],
    );
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("HERMES_AUTH_JSON_BOOTSTRAP is not valid JSON"),
        "{ran:?}"
    );

    volume.root("touch /opt/data/../target; rm -f /opt/data/gateway_state.json; ln -s /etc/stolen /opt/data/auth.json; ln -s /etc/stolen /opt/data/gateway_state.json; ln -s /etc /opt/data/pairing2");
    let options = [
        mount.as_str(),
        "--env=HERMES_AUTH_JSON_BOOTSTRAP={}",
        "--env=HERMES_GATEWAY_BOOTSTRAP_STATE=running",
    ];
    let container = Container::boot(&options, &["sleep", "infinity"]);
    assert_eq!(container.as_root("ls /etc/stolen").code, 2);
    assert_eq!(container.as_root("find /etc ! -user root").stdout, "");
    assert_eq!(container.must("readlink auth.json"), "/etc/stolen");
}

#[test]
fn a_corrupt_state_file_leaves_the_gateway_down() {
    let volume = Volume::new();
    volume.root("printf '{\"gateway_state\": ' > /opt/data/gateway_state.json");
    let container = Container::boot(&[&volume.mounted()], &["sleep", "infinity"]);
    let logs = container.logs();
    assert!(
        logs.contains("profile=default prior_state=None action=registered"),
        "{logs}"
    );
    assert_eq!(container.exec("hermes gateway status").code, 3);
}

#[test]
fn a_failing_tool_of_the_supervisor_does_not_keep_the_container_alive() {
    let directory = tempfile::tempdir().unwrap();
    let fake = directory.path().join("s6-svscanctl");
    std::fs::write(&fake, "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mount = format!("--volume={}:/usr/bin/s6-svscanctl:ro", fake.display());
    let ran = run(&[&mount], &["sh", "-c", "exit 13"]);
    assert_eq!(ran.code, 13, "{ran:?}");
    assert!(
        ran.stderr.contains("s6-svscanctl ended with exit code 1"),
        "{ran:?}"
    );
}
