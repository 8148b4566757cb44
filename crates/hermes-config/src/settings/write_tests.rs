//! Setting and unsetting, as `hermes config` does it.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::environment::Environment;

fn home(config: &str, dotenv: &str) -> (tempfile::TempDir, Sources) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [("config.yaml", config), (".env", dotenv)] {
        if !text.is_empty() {
            hermes_fs::write_atomic(&dir.path().join(name), text.as_bytes(), 0o600).unwrap();
        }
    }
    let env = Environment::from_pairs::<&str, &str>([]);
    let sources = Sources {
        env,
        home: dir.path().to_owned(),
        managed_dir: None,
        tighten_dotenv: false,
    };
    (dir, sources)
}

fn put(sources: &Sources, key: &str, value: &str) -> Result<SetOutcome, ConfigError> {
    set(
        sources,
        &SetRequest {
            key,
            value,
            force: false,
        },
    )
}

fn config_text(sources: &Sources) -> String {
    hermes_fs::read_text_capped(&sources.config_path(), 1 << 20).unwrap_or_default()
}

fn dotenv_text(sources: &Sources) -> String {
    hermes_fs::read_text_capped(&sources.dotenv_path(), 1 << 20).unwrap_or_default()
}

#[test]
fn values_are_what_the_setting_wants() {
    let (_dir, sources) = home("", "");
    for (key, value) in [
        ("approvals.mode", "off"),
        ("terminal.docker_volumes", "[\"/a:/b\"]"),
        ("terminal.timeout", "99"),
        ("display.streaming", "yes"),
        ("terminal.docker_image", "3.11"),
        ("x.y", "1.5"),
        ("x.z", "on"),
        ("x.w", "{a: 1}"),
        ("x.n", "-5"),
        ("terminal.cwd", "${HOME}/x"),
    ] {
        put(&sources, key, value).unwrap();
    }
    let document = Document::parse(&config_text(&sources)).unwrap();
    assert_eq!(
        document.value(),
        &json!({
            "approvals": {"mode": "off"},
            "_config_version": 33,
            "terminal": {"docker_volumes": ["/a:/b"], "timeout": 99, "docker_image": "3.11", "cwd": "${HOME}/x"},
            "display": {"streaming": true},
            "x": {"y": 1.5, "z": true, "w": {"a": 1}, "n": "-5"},
        })
    );
}

#[test]
fn wrong_values_are_refused_unless_forced() {
    let (_dir, sources) = home("a: 1\n", "");
    let error = put(&sources, "terminal.timeout", "soon").unwrap_err();
    assert_eq!(
        error.to_string(),
        "terminal.timeout: expected a whole number above zero, got 'soon'"
    );
    assert!(put(&sources, "terminal.backend", "dokcer").is_err());
    assert!(put(&sources, "terminal.docker_volumes", "/a").is_err());
    assert_eq!(config_text(&sources), "a: 1\n");
    set(
        &sources,
        &SetRequest {
            key: "terminal.timeout",
            value: "soon",
            force: true,
        },
    )
    .unwrap();
    assert_eq!(config_text(&sources), "a: 1\nterminal:\n  timeout: soon\n");
}

#[test]
fn unknown_keys_are_saved_with_a_suggestion() {
    let (_dir, sources) = home("", "");
    let outcome = put(&sources, "terminal.bakend", "docker").unwrap();
    assert_eq!(outcome.unknown, Some(Some("terminal.backend".to_owned())));
    assert_eq!(
        config_text(&sources),
        "terminal:\n  bakend: docker\n_config_version: 33\n"
    );
    assert!(put(&sources, "a..b", "1").is_err());
}

#[test]
fn variables_go_to_dotenv_and_denied_ones_nowhere() {
    let (_dir, sources) = home("", "");
    let outcome = put(&sources, "openrouter_api_key", "v").unwrap();
    assert_eq!(
        (outcome.target, outcome.key.as_str()),
        (Target::DotEnv, "OPENROUTER_API_KEY")
    );
    assert_eq!(dotenv_text(&sources), "OPENROUTER_API_KEY=v\n");
    assert!(matches!(
        put(&sources, "PATH", "/x"),
        Err(ConfigError::Variable(_))
    ));
    assert_eq!(config_text(&sources), "");
    assert_eq!(
        unset(&sources, "OPENROUTER_API_KEY").unwrap().0,
        Target::DotEnv
    );
    assert!(matches!(
        unset(&sources, "OPENROUTER_API_KEY"),
        Err(ConfigError::NotSet(_))
    ));
}

#[test]
fn a_mirror_line_is_kept_in_step_and_none_is_added() {
    let (_dir, sources) = home("", "TERMINAL_TIMEOUT=5\n");
    let outcome = put(&sources, "terminal.timeout", "9").unwrap();
    assert_eq!(outcome.mirrored.as_deref(), Some("TERMINAL_TIMEOUT"));
    put(&sources, "terminal.persistent_shell", "false").unwrap();
    assert_eq!(dotenv_text(&sources), "TERMINAL_TIMEOUT=9\n");
    unset(&sources, "terminal.timeout").unwrap();
    assert_eq!(dotenv_text(&sources), "");
}

#[test]
fn broken_files_are_refused_byte_for_byte() {
    for broken in ["a: [1\n", "- a\n", "a: b: c\n"] {
        let (dir, sources) = home(broken, "");
        let error = put(&sources, "x", "1").unwrap_err();
        assert!(matches!(error, ConfigError::Broken { .. }), "{error}");
        assert!(
            error.to_string().contains("line 1") || error.to_string().contains("line 2"),
            "{error}"
        );
        assert_eq!(config_text(&sources), broken);
        let copies = hermes_fs::read_dir(dir.path()).unwrap();
        assert_eq!(
            copies
                .iter()
                .filter(|e| e.name.to_string_lossy().contains(".corrupt."))
                .count(),
            1
        );
    }
}

#[test]
fn the_name_of_the_model_survives() {
    let (_dir, sources) = home("model: big # mine\n", "");
    put(&sources, "model.provider", "p").unwrap();
    assert_eq!(
        config_text(&sources),
        "model: # mine\n  default: big\n  provider: p\n"
    );
    put(&sources, "model", "other").unwrap();
    assert_eq!(config_text(&sources), "model: other # mine\n");
}

#[test]
fn managed_keys_are_refused() {
    let (dir, mut sources) = home("", "");
    let managed = dir.path().join("etc");
    hermes_fs::create_dir(&managed, 0o755).unwrap();
    hermes_fs::write_atomic(
        &managed.join("config.yaml"),
        b"terminal: {timeout: 5}\n",
        0o644,
    )
    .unwrap();
    sources.managed_dir = Some(managed);
    assert!(matches!(
        put(&sources, "terminal.timeout", "9"),
        Err(ConfigError::Managed { .. })
    ));
    assert!(matches!(
        put(&sources, "terminal", "{}"),
        Err(ConfigError::Managed { .. })
    ));
    put(&sources, "terminal.cwd", "/x").unwrap();
}

#[test]
fn two_writers_at_once_lose_no_element() {
    let before = "# mine\ncommand_allowlist:  # approved\n  - a b\nmodel: x  # kept\n";
    let (_dir, sources) = home(before, "");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let sources = &sources;
            scope.spawn(move || {
                for item in 0..10 {
                    let item = format!("key {writer}-{item}: [x] # y");
                    append_to_list(sources, "command_allowlist", &item).unwrap();
                }
            });
        }
    });
    let config = crate::Config::load_read_only(&sources);
    assert_eq!(config.texts("command_allowlist").len(), 41);
    let text = config_text(&sources);
    assert!(text.starts_with("# mine\ncommand_allowlist:  # approved\n  - a b\n"));
    assert!(text.ends_with("model: x  # kept\n"));
}

#[test]
fn a_broken_file_is_not_edited_and_copied_once() {
    let (dir, sources) = home("a: [1\n", "");
    for _ in 0..2 {
        assert!(append_to_list(&sources, "command_allowlist", "x").is_err());
    }
    assert_eq!(config_text(&sources), "a: [1\n");
    let entries = hermes_fs::read_dir(dir.path()).unwrap();
    let is_copy = |name: &std::ffi::OsStr| name.to_string_lossy().contains(".corrupt.");
    assert_eq!(
        entries.iter().filter(|entry| is_copy(&entry.name)).count(),
        1
    );
}

#[test]
fn elements_of_any_kind_come_and_go() {
    let before = "# mine\nlist:\n  # the first\n  - {a: 1}\n  - b: 2\nmodel: x\n";
    let (_dir, sources) = home(before, "");
    append_value(&sources, "list", &json!({"c": "d e"})).unwrap();
    remove_value(&sources, "list", &json!({"b": 2})).unwrap();
    let text = config_text(&sources);
    assert_eq!(
        text,
        "# mine\nlist:\n  # the first\n  - {a: 1}\n  - {c: d e}\nmodel: x\n"
    );
    let absent = remove_value(&sources, "list", &json!({"b": 2}));
    assert!(matches!(absent, Err(ConfigError::NotSet(_))));
    assert!(remove_value(&sources, "nothing.here", &json!(1)).is_err());
    assert_eq!(config_text(&sources), text);
}
