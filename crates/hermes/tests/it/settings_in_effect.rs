//! Settings that stand alone at the top of the file, defaults that are shown, and values that
//! cannot be used.

use serde_json::json;

use crate::{configured, fresh};

#[test]
fn settings_without_a_section_are_set_read_and_checked() {
    let home = fresh();
    for (key, value) in [
        ("file_read_max_chars", "5000"),
        ("context_file_max_chars", "3000"),
        ("max_concurrent_sessions", "4"),
        ("require_mention", "true"),
        ("group_sessions_per_user", "false"),
        ("reset_triggers", "[\"/again\"]"),
        ("paste_collapse_threshold", "9"),
        ("mcp_discovery_timeout", "2.5"),
    ] {
        home.run(["config", "set", key, value]).succeeds().says("");
        let shown = home.run(["config", "get", key, "--json"]);
        shown.succeeds().prints(&format!("{value}\n"));
    }
    let check = home.run(["config", "check", "--json"]).json();
    assert_eq!(check["problems"], json!([]));
    assert_eq!(check["version"], check["current_version"]);
    home.run(["config", "set", "file_read_max_chars", "many"])
        .refuses(
            1,
            "file_read_max_chars: expected a whole number above zero, got 'many'",
        );
}

#[test]
fn a_file_that_config_set_makes_needs_no_migration() {
    for args in [
        ["config", "set", "terminal.timeout", "9"].as_slice(),
        &["fallback", "add", "openrouter", "some/model"],
        &["tools", "disable", "web"],
    ] {
        let home = fresh();
        home.run(["config", "set", "OPENROUTER_API_KEY", "sk-or-1234"])
            .succeeds();
        home.run(args).succeeds();
        let check = home.run(["config", "check", "--json"]).json();
        assert_eq!(check["version"], 33, "{args:?}");
    }
    // A file with settings keeps the version it has.
    let home = configured("terminal: {timeout: 5}\n");
    home.run(["config", "set", "terminal.timeout", "9"])
        .succeeds();
    assert_eq!(home.read("config.yaml"), "terminal: {timeout: 9}\n");
}

#[test]
fn defaults_of_settings_that_nobody_changed_are_shown() {
    let home = fresh();
    for (key, value) in [
        ("compression.threshold", "0.5"),
        ("tool_loop_guardrails.warn_after.exact_failure", "2"),
        ("openrouter.response_cache_ttl", "300"),
        ("terminal.lifetime_seconds", "300"),
        ("agent.verify_on_stop", "auto"),
        ("agent.max_verify_nudges", "3"),
        ("agent.restart_drain_timeout", "0"),
        ("display.pet.scale", "0.33"),
        ("auxiliary.compression.timeout", "120"),
        ("max_live_sessions", "16"),
        ("tts.provider", "edge"),
    ] {
        home.run(["config", "get", key])
            .succeeds()
            .prints(&format!("{value}\n"))
            .says("");
    }
    home.run(["config", "get", "display.pet.scale", "--origin"])
        .prints("0.33\n  from default\n");
    let home = configured("display: {pet: {scale: 0.5}}\n");
    assert_eq!(
        home.run(["config", "get", "display.pet", "--json"]).json(),
        json!({
            "enabled": false, "render_mode": "auto", "scale": 0.5, "slug": "", "unicode_cols": 0
        })
    );
    home.run(["config", "get", "display.pet.scale", "--origin"])
        .prints("0.5\n  from ~/.hermes/config.yaml:1\n  overrides default = 0.33\n");
}

#[test]
fn an_unusable_value_is_named_by_the_command_that_uses_it_and_by_no_other() {
    let home = configured("terminal: {timeout: soon}\nkanban: {failure_limit: [3]}\n");
    let file = home.path("config.yaml").display().to_string();
    let warning = format!(
        "warning: {file}:1: terminal.timeout: expected a whole number above zero, got the text \
         \"soon\"; the default is in effect\nhint: hermes config set terminal.timeout VALUE\n"
    );
    home.run(["config", "get", "terminal.timeout"])
        .succeeds()
        .prints("180\n")
        .says(&warning);
    home.run(["exec", "--", "true"])
        .succeeds()
        .says_part(&warning);
    let board = format!("warning: {file}:2: kanban.failure_limit: expected a whole number");
    let card = home.run(["kanban", "create", "a card"]);
    card.succeeds().says_part(&board);
    assert!(!card.stderr.contains("terminal.timeout"), "{card}");
    home.run(["profile", "list"]).succeeds().says("");
    home.hermes(["config", "get", "terminal.container_memory"])
        .env("TERMINAL_CONTAINER_MEMORY", "lots")
        .run()
        .succeeds()
        .prints("5120\n")
        .says(
            "warning: TERMINAL_CONTAINER_MEMORY=lots is ignored: terminal.container_memory is a \
             whole number\n",
        );
    // Those that list what is wrong say it once, among their data.
    home.run(["config", "check"]).succeeds().says("");
    home.run(["doctor"]).exits(1).says("");
}
