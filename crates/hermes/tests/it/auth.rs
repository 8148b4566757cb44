//! Keys of model providers, from the command line.

use serde_json::{Value, json};

use crate::configured;

fn listed(home: &hermes_testkit::TestHome) -> Value {
    let outcome = home.run(["auth", "list", "--json"]);
    outcome.succeeds().json()
}

#[test]
fn a_key_is_kept_closed_and_never_shown() {
    let home = configured("");
    let added = home.run([
        "auth",
        "add",
        "or",
        "--api-key",
        "sk-or-canary-0123456789abcdef",
        "--label",
        "work",
    ]);
    added.succeeds().says("").never_shows("canary-0123");
    assert_eq!(home.mode("auth.json"), 0o600);
    assert!(
        home.read("auth.json")
            .contains("sk-or-canary-0123456789abcdef")
    );
    let list = home.run(["auth", "list"]);
    list.succeeds()
        .prints_part("openrouter")
        .prints_part("work")
        .never_shows("canary-0123");
    assert_eq!(listed(&home)[0]["entries"][0]["status"], "ok");
    let twice = home.run([
        "auth",
        "add",
        "openrouter",
        "--api-key",
        "sk-or-canary-0123456789abcdef",
    ]);
    twice.exits(1).never_shows("canary-0123");
    assert!(!home.read("logs/agent.log").contains("canary-0123"));
}

#[test]
fn keys_go_by_number_id_and_label() {
    let home = configured("");
    for label in ["a", "b", "c"] {
        let key = format!("key-of-{label}-12345678");
        home.run(["auth", "add", "xai", "--api-key", &key, "--label", label])
            .succeeds();
    }
    let id = listed(&home)[0]["entries"][2]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    home.run(["auth", "remove", "grok", "1"])
        .succeeds()
        .prints_part("'a'");
    home.run(["auth", "remove", "xai", &id])
        .succeeds()
        .prints_part("'c'");
    home.run(["auth", "remove", "xai", "nosuch"])
        .exits(1)
        .says_part("nosuch");
    home.run(["auth", "remove", "xai", "b"]).succeeds();
    home.run(["auth", "remove", "xai", "b"]).exits(1);
    home.run(["auth", "reset", "xai"]).exits(1).says_part("xai");
    home.run(["auth", "remove", "nosuch", "1"])
        .exits(1)
        .says_part("nosuch");
    home.run(["auth", "list"]).succeeds().prints("No keys\n");
}

#[test]
fn keys_that_rest_are_shown_with_a_time_and_can_be_reset() {
    let home = configured("");
    let entry = |id: &str, status: &str| {
        json!({
            "id": id, "label": id, "access_token": "key-12345678", "source": "manual",
            "last_status": status, "last_status_at": 1_700_000_000.0,
            "last_error_code": 429, "last_error_reason": "rate_limit",
            "last_error_reset_at": 32_503_680_000.0_f64,
        })
    };
    let document = json!({
        "version": 1, "providers": {"nous": {}},
        "credential_pool": {"xai": [entry("aaaaaa", "exhausted"), entry("bbbbbb", "ok")]},
    });
    home.put("auth.json", document.to_string());
    home.run(["auth", "list"])
        .succeeds()
        .prints_part("exhausted until")
        .prints_part("rate_limit");
    home.run(["auth", "status"]).succeeds().prints_part("xai");
    let rows = listed(&home);
    assert_eq!(rows[0]["entries"][0]["status"], "exhausted");
    assert_eq!(rows[0]["entries"][1]["status"], "ok");
    home.run(["auth", "reset", "xai"])
        .succeeds()
        .prints("✓ 1 key for xai can be used again\n");
    assert_eq!(listed(&home)[0]["entries"][0]["status"], "ok");
    assert!(home.read("auth.json").contains("nous"));
}

#[test]
fn keys_of_endpoints_are_bound_to_their_address_and_variables_are_listed() {
    let home = configured("providers: {lab: {url: 'http://127.0.0.1:9/v1'}}\n");
    home.run(["auth", "add", "lab", "--api-key", "lab-12345678"])
        .succeeds();
    let document: Value = serde_json::from_str(&home.read("auth.json")).unwrap();
    let entry = &document["credential_pool"]["custom:lab"][0];
    assert_eq!(entry["base_url"], "http://127.0.0.1:9/v1");
    home.put(".env", "XAI_API_KEY=xai-canary-12345678\n");
    let list = home.run(["auth", "list", "xai"]);
    list.succeeds()
        .prints_part("env:XAI_API_KEY")
        .never_shows("canary");
    assert!(!home.read("auth.json").contains("canary"));
}

#[test]
fn what_is_no_key_is_refused() {
    let home = configured("");
    for bad in ["abc", "changeme", "two words here", ""] {
        home.run(["auth", "add", "xai", "--api-key", bad]).exits(1);
    }
    home.run(["auth", "add", "nosuch", "--api-key", "key-12345678"])
        .exits(1);
    home.run(["auth", "add", "xai", "--type", "oauth"]).exits(1);
    home.put("auth.json", "{broken");
    home.run(["auth", "add", "xai", "--api-key", "key-12345678"])
        .exits(1)
        .says_part("auth.json");
    assert_eq!(home.read("auth.json"), "{broken");
}

#[test]
fn logging_out_forgets_a_provider_and_no_other() {
    let home = configured("");
    for (provider, label) in [("xai", "a"), ("xai", "b"), ("deepseek", "c")] {
        let key = format!("key-of-{label}-12345678");
        home.run(["auth", "add", provider, "--api-key", &key, "--label", label])
            .succeeds();
    }
    home.run(["auth", "logout", "grok"])
        .succeeds()
        .prints("✓ Removed 2 keys for xai\n");
    home.run(["auth", "logout", "xai"]).exits(1);
    home.run(["auth", "logout", "nosuch"])
        .exits(1)
        .says_part("nosuch");
    home.run(["auth", "logout"])
        .exits(1)
        .says_part("not logged in to any provider");
    assert_eq!(listed(&home)[0]["provider"], "deepseek");
    let mut kept: Value = serde_json::from_str(&home.read("auth.json")).unwrap();
    kept["providers"]["nous"] = json!({"access_token": "canary"});
    kept["active_provider"] = json!("nous");
    home.put("auth.json", kept.to_string());
    home.run(["auth", "logout"])
        .succeeds()
        .prints("✓ Removed 0 keys and the login for nous\n");
    assert!(!home.read("auth.json").contains("canary"));
}

#[test]
fn providers_are_listed_by_name_and_keys_by_priority() {
    let home = configured("");
    for (provider, label) in [("xai", "a"), ("openrouter", "b"), ("xai", "c")] {
        let key = format!("key-of-{label}-12345678");
        home.run(["auth", "add", provider, "--api-key", &key, "--label", label])
            .succeeds();
    }
    home.put(
        ".env",
        "DEEPSEEK_API_KEY=sk-12345678\nXAI_API_KEY=xai-12345678\n",
    );
    let rows = listed(&home);
    let labels: Vec<(&str, Vec<&str>)> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|pool| {
            let entries = pool["entries"].as_array().unwrap().iter();
            let labels = entries.map(|entry| entry["label"].as_str().unwrap());
            (pool["provider"].as_str().unwrap(), labels.collect())
        })
        .collect();
    assert_eq!(
        labels,
        [
            ("deepseek", vec!["DEEPSEEK_API_KEY"]),
            ("openrouter", vec!["b"]),
            ("xai", vec!["a", "c", "XAI_API_KEY"]),
        ]
    );
}

#[test]
fn resetting_a_key_that_only_a_variable_holds_is_no_error() {
    let home = crate::fresh();
    home.hermes(["auth", "reset", "xai"])
        .env("XAI_API_KEY", "xai-12345678")
        .run()
        .succeeds()
        .prints("No key for xai is marked as exhausted\n")
        .says("");
    assert_eq!(home.tree().paths(), Vec::<&str>::new());
    home.run(["auth", "reset", "xai"])
        .refuses(1, "no keys for xai");
}

#[test]
fn logout_without_a_login_is_done_and_with_one_removes_it() {
    let home = configured("");
    home.run(["logout"])
        .succeeds()
        .prints("Not logged in to any provider\n");
    home.run(["auth", "add", "xai", "--api-key", "xai-12345678"])
        .succeeds();
    home.run(["logout", "--provider", "nosuch"])
        .refuses(1, "no such provider: `nosuch`");
    home.run(["logout", "--provider", "grok"])
        .succeeds()
        .prints("✓ Removed 1 key for xai\n");
    home.run(["auth", "list"]).prints("No keys\n");
}
