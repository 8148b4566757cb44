//! `doctor`: looks, and mends only when asked.

use std::time::{Duration, Instant};

use hermes_testkit::{ModelServer, ScriptedAnswer, TestHome};
use serde_json::json;

use crate::{configured, fresh, with_coder};

// check 37
#[test]
fn on_a_read_only_home_without_network_it_ends_soon_and_changes_nothing() {
    let home = configured("_config_version: 24\nterminal: {timeout: soon}\nfoo: 1\n");
    home.put(".env", "OPENROUTER_API_KEY=v\n");
    home.run(["profile", "create", "coder"]).succeeds();
    let before = home.tree();
    let started = Instant::now();
    let outcome = home
        .hermes(["doctor"])
        .in_mount_namespace(
            "mount --bind \"$HOME\" \"$HOME\"
             mount -o remount,bind,ro \"$HOME\"
             cd \"$HOME\"
             if touch probe 2>/dev/null; then echo 'the home is still writable' >&2; exit 99; fi
             exec unshare --net \"$0\" \"$@\"",
        )
        .run();
    assert!(started.elapsed() < Duration::from_secs(15), "{outcome}");
    outcome
        .exits(1)
        .says("")
        .prints_part("✗ ~/.hermes is not writable\n")
        .prints_part("\n3 to fix:\n  1. ");
    before.is_still(&home.tree());
}

#[test]
fn a_fresh_home_lacks_only_a_provider_and_nothing_is_made() {
    let home = fresh();
    home.run(["doctor"])
        .exits(1)
        .says("")
        .prints_part("~/.hermes does not exist yet")
        .prints_part(
            "\n1 to fix:\n  1. no conversation can run: no model provider is configured\n",
        );
    assert_eq!(home.tree().paths(), Vec::<&str>::new());
}

/// What `doctor` says about the provider, and whether it has found a problem.
#[track_caller]
fn provider_is_told(config: &str, dotenv: &str, problem: Option<&str>) {
    let home = configured(config);
    home.put(".env", dotenv);
    let outcome = home.run(["doctor"]);
    match problem {
        None => outcome.succeeds().prints_part("\nNo problems found.\n"),
        Some(problem) => outcome
            .exits(1)
            .prints_part(&format!("✗ no conversation can run: {problem}\n")),
    };
}

#[test]
fn provider_model_and_key_are_checked_without_a_request() {
    let key = "OPENROUTER_API_KEY=sk-or-1234567890\n";
    let good = "_config_version: 33\nmodel: {default: some/model, provider: openrouter}\n";
    provider_is_told(good, key, None);
    provider_is_told(
        good,
        "",
        Some("no key is set for openrouter (openrouter.ai)"),
    );
    provider_is_told(
        "model: {provider: openrouter}\n",
        key,
        Some("no model is set for the provider `openrouter`"),
    );
    provider_is_told(
        "model: {default: m, provider: nosuch}\n",
        key,
        Some("no such provider: `nosuch`"),
    );
    // A local server needs no key and names its model itself.
    provider_is_told(
        "_config_version: 33\nmodel: {provider: custom, base_url: 'http://127.0.0.1:9/v1'}\n",
        "",
        None,
    );
    // With a chain to fall back to, turns run.
    let home = configured(&format!(
        "{good}fallback_providers: [{{provider: deepseek, model: m}}]\n"
    ));
    home.put(".env", "DEEPSEEK_API_KEY=sk-1234567890\n");
    home.run(["doctor"])
        .succeeds()
        .prints_part("⚠ no key is set for openrouter (openrouter.ai); the fallback chain is used")
        .prints_part("✓ 1 usable fallback\n");
}

#[test]
fn a_key_that_auth_add_stored_counts() {
    let home = configured("_config_version: 33\nmodel: {default: m, provider: deepseek}\n");
    home.run(["doctor"]).exits(1);
    home.run(["auth", "add", "deepseek", "--api-key", "sk-canary-12345678"])
        .succeeds();
    home.run(["doctor"])
        .succeeds()
        .prints_part("✓ deepseek (api.deepseek.com)\n  ✓ model m\n  ✓ 1 key\n");
    let status = home.run(["status"]);
    status
        .succeeds()
        .prints_part("✓ deepseek                     1 key (hermes auth)\n")
        .never_shows("canary");
    assert_eq!(
        home.run(["status", "--json"]).json()["stored_keys"],
        json!({"deepseek": 1})
    );
}

fn with_server(server: &ModelServer) -> TestHome {
    configured(&format!(
        "_config_version: 33\nmodel: {{default: m, provider: custom, base_url: '{}'}}\n",
        server.base_url()
    ))
}

#[test]
fn online_the_provider_is_asked_and_offline_it_is_not() {
    let list = ScriptedAnswer::status(200, &json!({"data": [{"id": "m"}, {"id": "n"}]}));
    let server = ModelServer::start([]).with("/v1/models", list);
    let home = with_server(&server);
    home.run(["doctor"]).succeeds();
    assert_eq!(server.received().len(), 0);
    home.run(["doctor", "--online"])
        .succeeds()
        .prints_part("✓ 127.0.0.1 answers and accepts the key\n");
    assert_eq!(server.received().len(), 1);
    home.run(["config", "set", "model.default", "other"])
        .succeeds();
    home.run(["doctor", "--online"])
        .succeeds()
        .prints_part("⚠ 127.0.0.1 answers, but does not list the model other\n");
    home.run(["status", "--deep"])
        .succeeds()
        .prints_part("Deep Checks")
        .prints_part("does not list the model other\n");

    let refusing = ModelServer::start([]).with(
        "/v1/models",
        ScriptedAnswer::status(401, &json!({"error": "no"})),
    );
    with_server(&refusing)
        .run(["doctor", "--online"])
        .exits(1)
        .prints_part("✗ 127.0.0.1 refuses the request with status 401\n");
    let gone =
        configured("model: {default: m, provider: custom, base_url: 'http://127.0.0.1:1/v1'}\n");
    gone.run(["doctor", "--online"])
        .exits(1)
        .prints_part("✗ 127.0.0.1 cannot be reached: no connection: ");
}

#[test]
fn an_advisory_is_marked_as_read() {
    let home = fresh();
    home.run(["doctor", "--ack", "nosuch"])
        .refuses(1, "no such advisory: 'nosuch'");
    for _ in 0..2 {
        home.run(["doctor", "--ack", "shai-hulud-2026-05"])
            .succeeds()
            .prints("✓ shai-hulud-2026-05 is marked as read\n");
    }
    home.run(["config", "get", "security.acked_advisories", "--json"])
        .prints("[\"shai-hulud-2026-05\"]\n");
}

#[test]
fn a_zone_nobody_knows_is_told() {
    let home = configured("timezone: Atlantis/Capital\n");
    home.run(["doctor"])
        .prints_part("timezone 'Atlantis/Capital' is not known on this machine\n");
    let home = configured("timezone: UTC\n");
    let told = home.run(["doctor"]).stdout;
    assert!(!told.contains("timezone"), "{told}");
}

#[test]
fn settings_of_the_python_runtime_are_named_by_doctor_and_config_check() {
    let home = configured("terminal: {modal_mode: auto, timeout: 9}\nstt: {provider: x}\n");
    home.run(["doctor"])
        .prints_part("used by the Python runtime only: stt, terminal.modal_mode\n");
    home.run(["config", "check"])
        .prints_part("terminal.modal_mode: used by the Python runtime only\n")
        .prints_part("stt: used by the Python runtime only\n");
}

#[test]
fn the_model_of_sub_agents_is_checked() {
    let model = "model: {provider: custom, base_url: 'http://127.0.0.1:1/v1', default: m}\n";
    let home = configured(&format!("{model}delegation: {{model: small}}\n"));
    home.run(["doctor"])
        .prints_part("sub-agents use small of custom");
    let home = configured(&format!("{model}delegation: {{provider: nosuch}}\n"));
    home.run(["doctor"])
        .prints_part("sub-agents cannot run: ")
        .prints_part("nosuch");
}

#[test]
fn models_of_tasks_that_only_the_python_runtime_has_are_named() {
    let home = configured(
        "auxiliary: {web_extract: {model: m}, vision: {model: v}}\ncompression: {in_place: false}\n",
    );
    let check = home.run(["config", "check", "--json"]).json();
    let named = check["python_only"].to_string();
    assert!(named.contains("auxiliary.web_extract"), "{check}");
    assert!(named.contains("compression.in_place"), "{check}");
    assert!(!named.contains("vision"), "{check}");
}

#[test]
fn it_mends_what_it_may() {
    let home = with_coder();
    home.put(
        "config.yaml",
        "# mine\n_config_version: 24\nOPENROUTER_API_KEY: sk-or-canary-0123456789\nmodel: m\n",
    );
    // A command whose profile is gone.
    home.run(["profile", "create", "gone"]).succeeds();
    std::fs::remove_dir_all(home.path("profiles/gone")).unwrap();

    let before = home.tree();
    home.run(["doctor"]).never_shows("or-canary");
    before.is_still(&home.tree());

    let fixed = home.run(["doctor", "--fix"]);
    fixed.succeeds().never_shows("or-canary");
    fixed
        .prints_part("  ✓ fixed: create what is missing in ~/.hermes\n")
        .prints_part("  ✓ fixed: migrate config.yaml\n")
        .prints_part("  ✓ fixed: move OPENROUTER_API_KEY to .env\n")
        .prints_part("  ✓ fixed: remove the alias gone\n");
    assert_eq!(
        home.read("config.yaml"),
        "# mine\n_config_version: 33\nmodel: m\n"
    );
    assert_eq!(
        home.read(".env"),
        "OPENROUTER_API_KEY=sk-or-canary-0123456789\n"
    );
    assert!(!home.alias_dir().join("gone").exists());
    assert!(home.path("memories").is_dir());
}

#[test]
fn one_token_in_two_profiles_is_found_and_not_shown() {
    let home = with_coder();
    let line = "TELEGRAM_BOT_TOKEN=123456789:canary-canary-canary-canary-canary\n";
    home.put(".env", line);
    home.put("profiles/coder/.env", line);
    home.run(["doctor"])
        .prints_part("TELEGRAM_BOT_TOKEN")
        .never_shows("canary");
}

#[test]
fn a_name_set_twice_is_told_by_name_only() {
    let home = configured("");
    home.put(".env", "OPENROUTER_API_KEY=inner-canary\n");
    home.hermes(["doctor"])
        .env("OPENROUTER_API_KEY", "outer-canary")
        .run()
        .prints_part("OPENROUTER_API_KEY")
        .prints_part("the environment wins")
        .never_shows("canary");
}

#[test]
fn a_damaged_database_is_a_problem() {
    let home = configured("");
    home.put("state.db", vec![7_u8; 9000]);
    home.run(["doctor"]).exits(1).prints_part("state.db");
}
