//! What the guards let pass when nobody can be asked. Commands that would do harm are only ever asked
//! about, never run.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Place, text};

#[test]
fn what_would_not_return_is_refused_in_the_foreground() {
    // check 20
    let place = Place::new();
    let mut talk = place.talk();
    for command in [
        "sleep 1 &",
        "nohup x",
        "npm run dev",
        "python3 -m http.server",
    ] {
        let result = talk.run(command);
        assert_eq!(result["status"], "error", "{command}: {result}");
        assert!(
            text(&result, "error").contains("background=true"),
            "{result}"
        );
    }
    let mut guards = place.ask_guards();
    for command in [
        "pip show gunicorn",
        "echo vite build",
        "git commit -m \"setsid & nohup\"",
        "cat <<E\na & b\nE",
        "curl 'x?a=1&b=2'",
        "uvicorn --help",
        "docker compose up -d",
    ] {
        assert_eq!(
            guards.verdict(command),
            json!({"approved": true}),
            "{command}"
        );
    }
    assert_eq!(talk.output("echo vite build"), "vite build");
    assert_eq!(talk.output("cat <<E\na & b\nE"), "a & b");
    let free = Place::with_config("terminal: {foreground_guard: false}\n");
    assert_eq!(free.output("sleep 0 &"), "");
}

const HARDLINE: [&str; 12] = [
    "rm -rf /",
    "/usr/bin/rm -rf /",
    "rm -rf \"/\"",
    "rm -rf //",
    "rm -rf ${HOME}",
    "r\\m -rf /",
    "rm${IFS}-rf${IFS}/",
    "$(echo rm) -rf /",
    "sh -c 'reboot'",
    "(reboot)",
    "sudo -n reboot",
    "dd if=/dev/zero of=/dev/sda",
];

#[test]
fn no_setting_lets_the_worst_commands_pass() {
    // check 30
    let off = || Place::with_config("approvals: {mode: off}\n");
    let places = [
        ("default", Place::new()),
        ("approve", Place::that_approves()),
        ("off", off()),
        ("yolo", Place::new().env("HERMES_YOLO_MODE", "1")),
    ];
    for (name, place) in places {
        let mut guards = place.ask_guards();
        for command in HARDLINE {
            for background in [false, true] {
                let args = json!({"command": command, "background": background});
                let verdict = guards.terminal(args);
                let said = (&verdict["approved"], &verdict["hardline"]);
                assert_eq!(
                    said,
                    (&json!(false), &json!(true)),
                    "{name}: {command}: {verdict}"
                );
                assert!(
                    text(&verdict, "message").starts_with("BLOCKED (hardline): "),
                    "{verdict}"
                );
            }
        }
        let long = format!("echo {}", "x".repeat(200_000));
        assert_eq!(guards.verdict(&long)["approved"], false, "{name}");
        for command in [
            "echo 'rm -rf /'",
            "git commit -m \"rm -rf /\"",
            "echo reboot",
            "grep shutdown log",
        ] {
            assert_eq!(
                guards.verdict(command)["approved"],
                true,
                "{name}: {command}"
            );
        }
    }
}

/// A place whose shell only notes that it was started: nothing is ever run in it.
fn with_a_shell_that_runs_nothing(config: &str) -> Place {
    let place = Place::with_config(config);
    let log = place.home.outside("started");
    let shell = format!("#!/bin/sh\necho started >> '{}'\n", log.display());
    place.home.put_outside("fake/bash", shell, 0o755);
    let path = format!("{}:/usr/bin:/bin", place.home.outside("fake").display());
    place.env("PATH", path)
}

#[test]
fn the_worst_commands_are_blocked_before_there_is_a_shell() {
    // check 30
    for (config, yolo) in [
        ("", ""),
        (
            "approvals: {mode: off, noninteractive_mode: approve}\n",
            "1",
        ),
        (
            "command_allowlist: [\"*\", \"delete in root path\", \"rm -rf /\"]\n",
            "",
        ),
    ] {
        let place = with_a_shell_that_runs_nothing(config).env("HERMES_YOLO_MODE", yolo);
        let mut talk = place.talk();
        for command in HARDLINE {
            for background in [false, true] {
                let result = talk.terminal(json!({"command": command, "background": background}));
                assert_eq!(result["status"], "blocked", "{command}: {result}");
                assert_eq!(result["exit_code"], -1);
                assert!(
                    text(&result, "error").starts_with("BLOCKED (hardline): "),
                    "{result}"
                );
            }
            let outcome = place.hermes(&["exec", "--", command]).run();
            outcome
                .exits(1)
                .prints("")
                .says_part("BLOCKED (hardline): ");
        }
        let long = talk.run(&format!("echo {}", "x".repeat(200_000)));
        assert_eq!(long["status"], "blocked");
        assert!(
            !place.home.outside("started").exists(),
            "a shell was started"
        );
        // It is the one that would have been.
        talk.run("true");
        assert!(place.home.outside("started").exists());
    }
}

#[test]
fn a_password_piped_to_sudo_is_blocked_unless_one_is_set() {
    // check 31
    let command = "echo x | sudo -S id";
    let verdict = Place::that_approves().ask_guards().verdict(command);
    assert_eq!(verdict["approved"], false, "{verdict}");
    let place = Place::that_approves().env("SUDO_PASSWORD", "unused-here");
    assert_eq!(place.ask_guards().verdict(command)["approved"], true);
}

#[test]
fn denied_patterns_hold_even_with_everything_approved() {
    // check 32
    let place = Place::with_config("approvals:\n  mode: off\n  deny: [\"sudo *\"]\n")
        .env("HERMES_YOLO_MODE", "1");
    let mut guards = place.ask_guards();
    for command in [
        "sudo id",
        "/usr/bin/sudo id",
        "bash -c \"sudo id\"",
        "true && sudo id",
    ] {
        assert_eq!(guards.verdict(command)["approved"], false, "{command}");
    }
    for command in ["id", "echo sudo id"] {
        assert_eq!(guards.verdict(command)["approved"], true, "{command}");
    }
}

/// The result of deleting a directory, and whether it is gone.
fn delete_in(place: &Place) -> (Value, bool) {
    std::fs::create_dir(place.work("x")).unwrap();
    let result = place.talk().run("rm -rf ./x");
    (result, !place.work("x").exists())
}

#[test]
fn a_flagged_command_is_denied_unless_the_settings_allow_it() {
    // check 33
    let (result, gone) = delete_in(&Place::new());
    assert_eq!(
        (&result["status"], gone),
        (&json!("blocked"), false),
        "{result}"
    );
    assert_eq!(result["pattern_key"], "recursive delete");
    for config in [
        "approvals: {noninteractive_mode: approve}\n",
        "approvals: {mode: off}\n",
        "command_allowlist: [recursive delete]\n",
        "command_allowlist: [\"rm -rf ./x\"]\n",
        "command_allowlist: [\"rm -rf ./*\"]\n",
    ] {
        let (result, gone) = delete_in(&Place::with_config(config));
        assert_eq!(
            (&result["exit_code"], gone),
            (&json!(0), true),
            "{config}: {result}"
        );
    }
    let (result, gone) = delete_in(&Place::with_config("command_allowlist: [\"rm -rf ./y\"]\n"));
    assert_eq!(
        (&result["status"], gone),
        (&json!("blocked"), false),
        "{result}"
    );
}

#[test]
fn background_commands_are_judged_alike() {
    // check 33
    let place = Place::new();
    std::fs::create_dir(place.work("x")).unwrap();
    let args = json!({"command": "rm -rf ./x", "background": true});
    let result = place.talk().terminal(args);
    assert_eq!(result["status"], "blocked", "{result}");
    assert!(place.work("x").exists());
}

#[test]
fn modes_are_understood_and_unknown_ones_told() {
    // check 34
    for (word, approved, warned) in [
        ("off", true, false),
        ("false", true, false),
        ("\"off\"", true, false),
        ("manual", false, false),
        ("true", false, false),
        ("smart", false, false),
        ("auto", false, true),
    ] {
        let place = Place::with_config(&format!("approvals:\n  mode: {word}\n"));
        let verdict = place.ask_guards().verdict("rm -rf ./x");
        assert_eq!(verdict["approved"], approved, "{word}: {verdict}");
        let log = place.log();
        let told = log
            .lines()
            .any(|line| line.contains("WARN") && line.contains("approvals.mode"));
        assert_eq!(told, warned, "{word}: {log}");
    }
}

#[test]
fn writes_to_keys_and_settings_are_denied_behind_links_too() {
    // check 36
    let place = Place::that_approves();
    let ssh = place.home.user_home().join(".ssh");
    std::fs::create_dir(&ssh).unwrap();
    std::os::unix::fs::symlink(&ssh, place.work("innocent")).unwrap();
    let mut talk = place.talk();
    let config = place.home.path("config.yaml").display().to_string();
    for path in ["innocent/x", "~/.ssh/x", &config] {
        let args = json!({"path": path, "content": "x"});
        let result = talk.call_in("main", "write_file", &args);
        assert!(
            text(&result, "error").starts_with("Write denied"),
            "{path}: {result}"
        );
    }
    assert!(!ssh.join("x").exists());
    assert!(place.home.read("config.yaml").starts_with("approvals"));
    let plain = json!({"path": "plain", "content": "x"});
    assert_eq!(
        talk.call_in("main", "write_file", &plain)["bytes_written"],
        1
    );
}

#[test]
fn safe_roots_are_whole_directories() {
    // check 36
    let place = Place::new();
    for name in ["a", "b", "ab"] {
        std::fs::create_dir(place.work(name)).unwrap();
    }
    let roots = format!(
        "{}:{}",
        place.work("a").display(),
        place.work("b").display()
    );
    let place = place.env("HERMES_WRITE_SAFE_ROOT", roots);
    let mut talk = place.talk();
    for (path, allowed) in [("a/x", true), ("b/x", true), ("ab/x", false), ("x", false)] {
        let args = json!({"path": path, "content": "x"});
        let result = talk.call_in("main", "write_file", &args);
        assert_eq!(place.work(path).exists(), allowed, "{path}: {result}");
        if !allowed {
            assert!(
                text(&result, "error").contains("HERMES_WRITE_SAFE_ROOT"),
                "{result}"
            );
        }
    }
}
