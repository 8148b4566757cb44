//! What a typed value means, and where a setting comes from.

use crate::configured;

// check 12
#[test]
fn values_get_the_type_of_their_setting() {
    let home = configured("");
    home.run(["config", "set", "approvals.mode", "off"])
        .succeeds();
    home.run(["config", "get", "approvals.mode", "--json"])
        .prints("\"off\"\n");
    home.run(["config", "set", "terminal.docker_volumes", "[\"/a:/b\"]"])
        .succeeds();
    home.run(["config", "get", "terminal.docker_volumes", "--json"])
        .prints("[\"/a:/b\"]\n");
    home.run(["config", "set", "display.streaming", "yes"])
        .succeeds();
    home.run(["config", "get", "display.streaming", "--json"])
        .prints("true\n");
    home.run(["config", "set", "x_own.list", "[1, two]", "--force"])
        .succeeds();
    home.run(["config", "get", "x_own.list", "--json"])
        .prints("[1,\"two\"]\n");
    home.run(["config", "set", "x_own.deep.number", "2.5", "--force"])
        .succeeds();
    home.run(["config", "get", "x_own.deep", "--json"])
        .prints("{\"number\":2.5}\n");
}

// check 12
#[test]
fn an_unknown_key_is_saved_with_a_suggestion() {
    let home = configured("");
    home.run(["config", "set", "terminal.bakend", "docker"])
        .succeeds()
        .prints("✓ Set terminal.bakend = docker in ~/.hermes/config.yaml\n")
        .says(
            "warning: no such setting: terminal.bakend\n\
             hint: did you mean terminal.backend?\n",
        );
    assert_eq!(
        home.read("config.yaml"),
        "terminal:\n  bakend: docker\n_config_version: 33\n"
    );
    home.run(["config", "set", "terminal.bakend", "docker", "--force"])
        .succeeds()
        .says("");
    home.run(["config", "check"])
        .succeeds()
        .prints_part("unknown setting terminal.bakend\n    → did you mean terminal.backend?\n");
    for (key, meant) in [
        ("delegation.modle", "delegation.model"),
        ("compression.protect_last", "compression.protect_last_n"),
        ("security.tirith_pat", "security.tirith_path"),
    ] {
        home.run(["config", "set", key, "1"])
            .succeeds()
            .says_part(&format!("did you mean {meant}?"));
    }
}

// check 12
#[test]
fn a_key_that_leads_nowhere_changes_nothing() {
    let home = configured("custom_providers:\n  - name: one\n");
    let before = home.tree();
    for (key, part) in [
        ("a..b", "a..b"),
        (".a", ".a"),
        ("a.", "a."),
        ("custom_providers.5.name", "5"),
        ("custom_providers.x.name", "x"),
    ] {
        let outcome = home.run(["config", "set", key, "1"]);
        outcome.exits(1).prints("").says_part(part);
        assert!(outcome.stderr.starts_with("Error: "), "{outcome}");
    }
    before.is_still(&home.tree());
    home.run(["config", "set", "custom_providers.0.name", "two"])
        .succeeds();
    assert_eq!(
        home.read("config.yaml"),
        "custom_providers:\n  - name: two\n"
    );
}

#[test]
fn a_value_of_the_wrong_type_is_refused_by_name() {
    let home = configured("");
    let before = home.tree();
    home.run(["config", "set", "terminal.timeout", "soon"])
        .exits(1)
        .says_part("Error: terminal.timeout: expected ")
        .says_part("got 'soon'\n");
    before.is_still(&home.tree());
}

#[test]
fn a_wrong_type_in_the_file_is_told_with_its_line_and_the_default_is_used() {
    let home = configured("# first\nterminal:\n  timeout: soon\n");
    home.run(["config", "get", "terminal.timeout"])
        .succeeds()
        .prints("180\n");
    let check = home.run(["config", "check"]);
    check.succeeds().prints_part(&format!(
        "{}:3: terminal.timeout: expected ",
        home.path("config.yaml").display()
    ));
}

#[test]
fn a_key_nobody_set_is_exit_code_1() {
    let home = configured("");
    home.run(["config", "get", "no.such.key"])
        .refuses(1, "Config key not set: no.such.key");
    home.run(["config", "get", "OPENROUTER_API_KEY"])
        .refuses(1, "Config key not set: OPENROUTER_API_KEY");
}

#[test]
fn the_origin_of_a_value_names_winner_and_losers() {
    let home = configured("# first\nterminal:\n  timeout: 5\n");
    home.put(".env", "# secrets\nTERMINAL_TIMEOUT=4\n");
    home.hermes(["config", "get", "terminal.timeout", "--origin"])
        .env("TERMINAL_TIMEOUT", "6")
        .run()
        .succeeds()
        .prints(
            "6\n  from environment (TERMINAL_TIMEOUT)\n  \
             overrides ~/.hermes/config.yaml:3 = 5\n  \
             overrides ~/.hermes/.env:2 (TERMINAL_TIMEOUT) = 4\n  \
             overrides default = 180\n",
        );
    home.run(["config", "get", "terminal.timeout", "--origin"])
        .prints_part("5\n  from ~/.hermes/config.yaml:3\n");
}

#[test]
fn secrets_are_masked_wherever_settings_are_shown() {
    let home = configured("model:\n  default: m\n  api_key: sk-canary-in-the-settings-0123\n");
    home.put(".env", "OPENROUTER_API_KEY=sk-or-canary-0123456789abcdef\n");
    for args in [
        ["config", "show"].as_slice(),
        &["config", "show", "--json"],
        &["config", "get", "OPENROUTER_API_KEY", "--origin"],
        &["config", "check"],
        &["status"],
        &["status", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["dump"],
        &["dump", "--show-keys"],
        &[
            "config",
            "set",
            "model.api_key",
            "sk-canary-in-the-settings-4567",
        ],
        &[
            "config",
            "set",
            "OPENROUTER_API_KEY",
            "sk-or-canary-zzzzzzzzzzzzzzzz",
        ],
        &["logs"],
    ] {
        let outcome = home.run(args);
        outcome
            .never_shows("canary-in-the-settings")
            .never_shows("or-canary");
    }
}
