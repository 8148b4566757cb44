use hermes_config::{Environment, Sources};
use pretty_assertions::assert_eq;

use super::*;

fn settings(config: &str, env: &[(&str, &str)]) -> Result<DockerSettings> {
    let dir = tempfile::tempdir().unwrap();
    hermes_fs::write_atomic(&dir.path().join("config.yaml"), config.as_bytes(), 0o600).unwrap();
    let sources = Sources {
        env: Environment::from_pairs(env.iter().copied()),
        home: dir.path().to_owned(),
        managed_dir: None,
        tighten_dotenv: false,
    };
    DockerSettings::from_config(&Config::load_read_only(&sources))
}

/// What an empty configuration gives in a home.
pub(crate) fn defaults(home: &Path) -> DockerSettings {
    DockerSettings {
        image: "nikolaik/python-nodejs:python3.11-nodejs20".to_owned(),
        volumes: Vec::new(),
        forward: Vec::new(),
        env: BTreeMap::new(),
        extra_args: Vec::new(),
        mount_cwd: false,
        run_as_host_user: false,
        network: true,
        persist_across_processes: true,
        orphan_reaper: true,
        cpus: 1.0,
        memory_mb: 5120,
        disk_mb: 51200,
        pids_limit: 256,
        require_limits: false,
        container_persistent: true,
        sandbox_dir: home.join("sandboxes"),
        lifetime: Duration::from_mins(5),
        credential_files: Vec::new(),
        external_skill_dirs: Vec::new(),
        cwd: ".".to_owned(),
        on_drift: OnDrift::Warn,
        pull_timeout: Duration::from_mins(15),
        auto_mounts: true,
        host_path_map: Vec::new(),
        isolation: Isolation::Shared,
        init: InitMode::Auto,
        warnings: Vec::new(),
        notices: Vec::new(),
    }
}

#[test]
fn nothing_set_gives_the_defaults() {
    let dir = tempfile::tempdir().unwrap();
    let sources = Sources {
        env: Environment::from_pairs([("HOME", "/h")]),
        home: dir.path().to_owned(),
        managed_dir: None,
        tighten_dotenv: false,
    };
    let read = DockerSettings::from_config(&Config::load_read_only(&sources)).unwrap();
    let expected = defaults(dir.path());
    assert_eq!(format!("{read:?}"), format!("{expected:?}"));
}

#[test]
fn everything_can_be_said_in_the_file_and_in_variables() {
    let read = settings(
        "\
terminal:
  docker_image: debian:12
  docker_pids_limit: 0
  docker_require_limits: true
  docker_on_drift: recreate
  docker_pull_timeout: 5
  docker_auto_mounts: false
  docker_host_path_map: {/opt/data: /srv/data, rel: /x}
  docker_isolation: session
  docker_init: false
  lifetime_seconds: 0
  sandbox_dir: ~/boxes
",
        &[
            ("HOME", "/h"),
            ("TERMINAL_CONTAINER_CPU", "0.5"),
            ("TERMINAL_DOCKER_IMAGE", "x"),
            ("TERMINAL_DOCKER_NETWORK", "off"),
            ("TERMINAL_DOCKER_EXTRA_ARGS", "[\"--shm-size=1g\", 7]"),
            ("TERMINAL_CONTAINER_PERSISTENT", "  "),
        ],
    )
    .unwrap();
    assert_eq!(read.image, "x");
    assert_eq!(
        (read.pids_limit, read.cpus.to_string()),
        (0, "0.5".to_owned())
    );
    assert!(read.require_limits && !read.auto_mounts && !read.network);
    assert!(read.container_persistent, "blank means the default");
    assert_eq!(read.on_drift, OnDrift::Recreate);
    assert_eq!(read.pull_timeout, Duration::from_secs(5));
    assert_eq!(read.isolation, Isolation::Session);
    assert_eq!(read.init, InitMode::Fixed(false));
    assert_eq!(read.lifetime, Duration::ZERO);
    assert_eq!(read.sandbox_dir, Path::new("/h/boxes"));
    assert_eq!(read.extra_args, ["--shm-size=1g"]);
    assert_eq!(
        read.host_path_map,
        [(PathBuf::from("/opt/data"), PathBuf::from("/srv/data"))]
    );
    assert_eq!(read.warnings.len(), 2, "{:?}", read.warnings);
}

#[test]
fn a_value_that_cannot_be_is_an_error_in_one_line() {
    for (name, value, expected) in [
        ("TERMINAL_DOCKER_VOLUMES", "/a:/b", "a JSON list"),
        ("TERMINAL_CONTAINER_CPU", "lots", "a number"),
        ("TERMINAL_DOCKER_EXTRA_ARGS", "\"--privileged\"", "a text"),
        (
            "TERMINAL_DOCKER_FORWARD_ENV",
            "\"GITHUB_TOKEN\"",
            "a JSON list",
        ),
        ("TERMINAL_DOCKER_ENV", "[1]", "a JSON mapping"),
        ("TERMINAL_CONTAINER_MEMORY", "5g", "a whole number"),
        ("TERMINAL_DOCKER_NETWORK", "maybe", "true or false"),
    ] {
        let error = settings("", &[(name, value)]).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
    for key in [
        "docker_volumes: /a:/b",
        "docker_env: [1]",
        "docker_on_drift: no-idea",
    ] {
        let error = settings(&format!("terminal:\n  {key}\n"), &[]).unwrap_err();
        let name = key.split(':').next().unwrap();
        assert!(error.to_string().contains(name), "{error}");
    }
    for image in ["''", "'--privileged'", "'a b'"] {
        let error = settings(&format!("terminal: {{docker_image: {image}}}\n"), &[]).unwrap_err();
        assert!(error.to_string().contains("docker_image"), "{error}");
    }
}

#[test]
fn variables_of_containers_are_text_and_their_names_are_names() {
    let read = settings(
        "\
terminal:
  docker_env: {A: x, ' B ': 2, C: true, D: 1.5, 'bad-name': x, L: [1], M: {a: 1}, N: null, '': y}
  docker_forward_env: [X, ' X ', Y, 'bad name', 7, '', Z=1]
",
        &[],
    )
    .unwrap();
    let pairs: Vec<(&str, &str)> = read
        .env
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(pairs, [("A", "x"), ("B", "2"), ("C", "true"), ("D", "1.5")]);
    assert_eq!(read.forward, ["X", "Y"]);
    let told = read.warnings.join("\n");
    for part in [
        "bad-name",
        "ignoring L:",
        "ignoring M:",
        "ignoring N:",
        "bad name",
        "Z=1",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
}

#[test]
fn no_task_leads_out_of_the_directory_of_sandboxes() {
    let settings = defaults(Path::new("/h"));
    for raw in ["task/with:weird*chars", "..", ".", "../../etc", "", "/abs"] {
        let dir = settings.sandbox_of(&crate::labels::sanitize(raw));
        assert_eq!(
            dir.parent(),
            Some(Path::new("/h/sandboxes/docker")),
            "{raw}"
        );
        assert!(dir.file_name().is_some(), "{raw}");
    }
}

#[test]
fn the_two_switches_take_the_references_words_and_never_fail() {
    let both = |text: &str, env: &str| {
        let file = format!(
            "terminal:\n  docker_persist_across_processes: {text}\n  docker_orphan_reaper: {text}\n"
        );
        let variables = [
            ("TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES", env),
            ("TERMINAL_DOCKER_ORPHAN_REAPER", env),
        ];
        let read = settings(&file, if env.is_empty() { &[] } else { &variables }).unwrap();
        assert_eq!(read.persist_across_processes, read.orphan_reaper, "{text}");
        (read.orphan_reaper, read.notices)
    };
    for yes in ["true", "'true'", "yes", "'YES'", "1", "'1'", "on", "null"] {
        assert_eq!(both(yes, ""), (true, vec![]), "{yes}");
    }
    for no in ["false", "'False'", "no", "'no'", "0", "'0'", "'off'"] {
        assert_eq!(both(no, ""), (false, vec![]), "{no}");
    }
    for (odd, found) in [("maybe", "\"maybe\""), ("2", "number 2"), ("[1]", "a list")] {
        let (value, told) = both(odd, "");
        assert!(!value, "{odd}");
        assert_eq!(told.len(), 2, "{odd}");
        assert!(
            told[0].contains("docker_persist_across_processes") && told[0].contains(found),
            "{told:?}"
        );
        assert!(told[1].contains("docker_orphan_reaper"), "{told:?}");
        assert!(told[1].ends_with("; it counts as false"), "{told:?}");
    }
    let (value, told) = both("true", "perhaps");
    assert!(!value && told[0].starts_with("TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES:"));
    assert_eq!(both("maybe", "yes"), (true, vec![]), "the variable decides");
}

#[test]
fn a_lifetime_has_a_floor_and_what_is_none_is_named() {
    let lifetime = |text: &str| {
        let read = settings(&format!("terminal: {{lifetime_seconds: {text}}}\n"), &[]).unwrap();
        (read.lifetime.as_secs(), read.notices)
    };
    assert_eq!(lifetime("90"), (90, vec![]));
    assert_eq!(lifetime("0"), (0, vec![]));
    assert_eq!(lifetime("-5"), (0, vec![]));
    assert_eq!(lifetime("null"), (300, vec![]));
    for (odd, found) in [("abc", "\"abc\""), ("[1]", "a list"), ("1.5", "1.5")] {
        let (seconds, told) = lifetime(odd);
        assert_eq!((seconds, told.len()), (300, 1), "{odd}");
        assert!(
            told[0].contains("terminal.lifetime_seconds") && told[0].contains(found),
            "{told:?}"
        );
    }
    let read = settings("", &[("TERMINAL_LIFETIME_SECONDS", "abc")]).unwrap();
    assert_eq!(
        read.notices,
        ["TERMINAL_LIFETIME_SECONDS: expected a whole number, got 'abc'; using 300"]
    );
}

#[test]
fn settings_without_a_file_come_from_variables() {
    let read = settings(
        "",
        &[
            ("TERMINAL_DOCKER_PIDS_LIMIT", "99"),
            ("TERMINAL_DOCKER_REQUIRE_LIMITS", "yes"),
            ("TERMINAL_DOCKER_ON_DRIFT", "ignore"),
            ("TERMINAL_DOCKER_PULL_TIMEOUT", "7"),
            ("TERMINAL_DOCKER_AUTO_MOUNTS", "no"),
            ("TERMINAL_DOCKER_HOST_PATH_MAP", "{\"/a\": \"/b\"}"),
            ("TERMINAL_DOCKER_ISOLATION", "session"),
            ("TERMINAL_DOCKER_INIT", "false"),
            ("TERMINAL_CREDENTIAL_FILES", "[\"token.json\"]"),
        ],
    )
    .unwrap();
    assert_eq!(read.pids_limit, 99);
    assert!(read.require_limits && !read.auto_mounts);
    assert_eq!(read.on_drift, OnDrift::Ignore);
    assert_eq!(read.pull_timeout, Duration::from_secs(7));
    assert_eq!(read.host_path_map, [("/a".into(), "/b".into())]);
    assert_eq!(read.isolation, Isolation::Session);
    assert_eq!(read.init, InitMode::Fixed(false));
    assert_eq!(read.credential_files, ["token.json"]);
    let error = settings("", &[("TERMINAL_DOCKER_ON_DRIFT", "explode")]).unwrap_err();
    assert!(
        error.to_string().starts_with("TERMINAL_DOCKER_ON_DRIFT:"),
        "{error}"
    );
}
