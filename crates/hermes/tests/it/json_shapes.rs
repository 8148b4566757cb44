//! What programs read: the keys of every `--json` output, compared as a whole.

use hermes_testkit::TestHome;
use serde_json::Value;

use crate::{configured, with_coder};

/// Names of an object's keys, in order.
#[track_caller]
fn keys(value: &Value) -> Vec<&str> {
    let object = value
        .as_object()
        .unwrap_or_else(|| panic!("no object: {value}"));
    object.keys().map(String::as_str).collect()
}

fn json(home: &TestHome, args: &[&str]) -> Value {
    home.run(args).succeeds().says("").json()
}

const PROFILE: [&str; 15] = [
    "name",
    "path",
    "is_default",
    "is_current",
    "gateway_running",
    "gateway_pid",
    "model",
    "provider",
    "has_env",
    "skill_count",
    "alias",
    "distribution",
    "description",
    "description_auto",
    "gateway_port",
];

#[test]
fn profiles() {
    let home = with_coder();
    home.put(
        "profiles/coder/config.yaml",
        "model: {default: small, provider: p}\n",
    );
    home.put("profiles/coder/skills/one/SKILL.md", "x");
    home.put(
        "profiles/coder/distribution.yaml",
        "name: kit\nversion: '1.2'\nsource: https://example.com/kit\n",
    );
    home.run(["profile", "describe", "coder", "--text", "writes code"])
        .succeeds();
    let list = json(&home, &["profile", "list", "--json"]);
    assert_eq!(keys(&list), ["root", "active", "profiles"]);
    assert_eq!(list["root"], home.root().display().to_string());
    assert_eq!(list["active"], "default");
    let profiles = list["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 2);
    for profile in profiles {
        assert_eq!(keys(profile), PROFILE);
    }
    let show = json(&home, &["profile", "show", "coder", "--json"]);
    assert_eq!(show, profiles[1]);
    for (key, value) in [
        ("name", Value::from("coder")),
        (
            "path",
            Value::from(home.path("profiles/coder").display().to_string()),
        ),
        ("is_default", Value::from(false)),
        ("is_current", Value::from(false)),
        ("gateway_running", Value::from(false)),
        ("gateway_pid", Value::Null),
        ("model", Value::from("small")),
        ("provider", Value::from("p")),
        ("has_env", Value::from(true)),
        ("skill_count", Value::from(7)),
        ("alias", Value::from("coder")),
        ("description", Value::from("writes code")),
        ("description_auto", Value::from(false)),
        ("gateway_port", Value::Null),
    ] {
        assert_eq!(show[key], value, "{key}");
    }
    assert_eq!(
        show["distribution"],
        serde_json::json!({
            "name": "kit",
            "version": "1.2",
            "source": "https://example.com/kit",
        })
    );
}

#[test]
fn settings() {
    let home = configured("terminal:\n  timeout: 5\n");
    let origin = json(
        &home,
        &["config", "get", "terminal.timeout", "--origin", "--json"],
    );
    assert_eq!(
        origin,
        serde_json::json!({
            "key": "terminal.timeout",
            "value": 5,
            "origin": {
                "layer": "config.yaml",
                "value": 5,
                "file": home.path("config.yaml").display().to_string(),
                "line": 2,
                "variable": null,
            },
            "overridden": [
                {"layer": "default", "value": 180, "file": null, "line": null, "variable": null},
            ],
        })
    );
    let check = json(&home, &["config", "check", "--json"]);
    assert_eq!(
        keys(&check),
        [
            "file",
            "parses",
            "version",
            "current_version",
            "unknown_keys",
            "problems",
            "python_only",
            "variables_set"
        ]
    );
    let set = json(&home, &["config", "set", "terminal.timeout", "6", "--json"]);
    assert_eq!(
        keys(&set),
        ["key", "value", "file", "unknown", "suggestion"]
    );
    let show = json(&home, &["config", "show", "--json"]);
    assert_eq!(show["terminal"]["timeout"], 6);
    let migrate = json(&home, &["config", "migrate", "--json"]);
    assert_eq!(
        keys(&migrate),
        ["from", "to", "dry_run", "changes", "backups"]
    );
}

#[test]
fn diagnoses() {
    let home = configured("terminal: {timeout: soon}\n");
    let doctor = home.run(["doctor", "--json"]);
    let doctor = doctor.exits(1).says("").json();
    assert_eq!(keys(&doctor), ["ok", "fixed", "rows"]);
    assert_eq!(doctor["ok"], false);
    for row in doctor["rows"].as_array().unwrap() {
        assert_eq!(
            keys(row),
            ["section", "id", "status", "text", "hints", "fixable"]
        );
        assert!(["ok", "warning", "problem"].contains(&row["status"].as_str().unwrap()));
    }
    let status = json(&home, &["status", "--json"]);
    assert_eq!(
        keys(&status),
        [
            "profile",
            "home",
            "root",
            "version",
            "install_method",
            "config_parses",
            "model",
            "provider",
            "api_keys_set",
            "stored_keys",
            "terminal",
            "platforms",
            "gateway",
            "gateways",
            "boards",
            "cron_jobs",
            "scheduler",
            "api_server"
        ]
    );
    assert_eq!(
        keys(&status["terminal"]),
        ["backend", "docker_image", "origin"]
    );
    assert_eq!(keys(&status["gateway"]), ["running", "pid"]);
}

#[test]
fn log_files() {
    let home = configured("");
    let list = json(&home, &["logs", "list", "--json"]);
    assert_eq!(keys(&list), ["logs"]);
    let logs = list["logs"].as_array().unwrap();
    assert_eq!(logs.len(), 1);
    assert_eq!(keys(&logs[0]), ["name", "path", "bytes", "age_seconds"]);
    assert_eq!(logs[0]["name"], "agent");
}
