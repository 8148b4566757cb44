//! Settings and variables before any engine is asked.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::fake_place::FakePlace;

const BAD: [(&str, &str); 5] = [
    ("TERMINAL_DOCKER_VOLUMES", "/a:/b"),
    ("TERMINAL_CONTAINER_CPU", "lots"),
    ("TERMINAL_DOCKER_EXTRA_ARGS", "\"--privileged\""),
    ("TERMINAL_DOCKER_ENV", "{not json"),
    ("TERMINAL_DOCKER_NETWORK", "perhaps"),
];

#[test]
fn a_variable_that_cannot_be_is_one_line_that_names_it() {
    // check 31
    for (name, value) in BAD {
        let place = FakePlace::new().env(name, value);
        for args in [
            &["exec", "--", "touch here"] as &[&str],
            &["tools", "call", "terminal", r#"{"command": "touch here"}"#],
            &["sandbox", "list"],
        ] {
            let outcome = place.hermes(args).run();
            outcome.exits(1).prints("").says_part(name);
            let lines = outcome.stderr.lines();
            let sentences: Vec<&str> = lines.filter(|line| !line.starts_with("hint: ")).collect();
            assert_eq!(sentences.len(), 1, "{outcome}");
        }
        assert_eq!(place.engine.calls(), []);
        assert!(!place.home.outside("work/here").exists());
    }
}

#[test]
fn variables_of_containers_do_not_bother_commands_on_this_machine() {
    // check 31
    let place = BAD
        .iter()
        .fold(FakePlace::new(), |place, (name, value)| {
            place.env(name, *value)
        })
        .env("TERMINAL_ENV", "local");
    place
        .exec("echo here; touch here")
        .succeeds()
        .prints("here\n");
    assert!(place.home.outside("work/here").exists());
    assert_eq!(place.engine.calls(), []);
}

#[test]
fn the_image_of_the_environment_wins_and_the_loser_is_named() {
    // check 40
    let place = FakePlace::new();
    let config = |terminal| {
        place
            .home
            .put("config.yaml", json!({"terminal": terminal}).to_string());
    };
    config(json!({"backend": "docker", "cwd": "/tmp", "docker_orphan_reaper": false}));
    let image_of = |args: &[&str]| {
        place.engine.forget();
        let run = place.hermes(args).env("TERMINAL_DOCKER_IMAGE", "x");
        run.run().succeeds();
        let runs = place.engine.calls_of("run");
        let args = &runs[0].args;
        args[args.len() - 3].clone()
    };
    let doors = [
        &["exec", "--", "true"] as &[&str],
        &["tools", "call", "terminal", r#"{"command": "true"}"#],
        &["sandbox", "exec", "--", "true"],
    ];
    for door in doors {
        assert_eq!(image_of(door), "x");
    }
    config(json!({
        "backend": "docker", "cwd": "/tmp", "docker_orphan_reaper": false, "docker_image": "y",
    }));
    for door in doors {
        assert_eq!(image_of(door), "x");
    }
    let shown = place
        .hermes(&["config", "get", "terminal.docker_image", "--origin"])
        .env("TERMINAL_DOCKER_IMAGE", "x")
        .run();
    shown
        .succeeds()
        .prints_part("TERMINAL_DOCKER_IMAGE")
        .prints_part("config.yaml");
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert_eq!(lines[0], "x", "{shown}");
    assert!(shown.stdout.contains('y'), "{shown}");
}

#[test]
fn a_backend_this_build_has_not_runs_nothing() {
    let place = FakePlace::new();
    for name in ["singularity", "modal", "daytona"] {
        let outcome = place
            .hermes(&["exec", "--backend", name, "--", "touch here"])
            .run();
        outcome
            .exits(3)
            .prints("")
            .says_part("is not available in this build");
        outcome.says_part(name);
    }
    for name in ["dockr", "Docker ", "sh"] {
        let outcome = place
            .hermes(&["exec", "--backend", name, "--", "touch here"])
            .run();
        if outcome.code != Some(0) {
            outcome.exits(1).prints("").says_part("local, docker, ssh");
        }
        let place = FakePlace::with(json!({"backend": name}));
        let outcome = place.exec("touch here");
        if outcome.code != Some(0) {
            outcome.exits(1).prints("").says_part("nothing was run");
        }
        assert!(!place.home.outside("work/here").exists());
    }
    assert!(!place.home.outside("work/here").exists());
}
