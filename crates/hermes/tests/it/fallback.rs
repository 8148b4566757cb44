//! The chain of providers, from the command line.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::configured;

const CHAIN: &str = "# mine\nfallback_providers:  # in this order\n  # the quick one\n  - provider: xai\n    \
    model: grok-4\n  # the thorough one\n  - provider: anthropic\n    model: claude-x\n    api_key: canary-98765\n\
    timezone: UTC  # kept\n";

fn listed(home: &hermes_testkit::TestHome) -> Value {
    home.run(["fallback", "list", "--json"]).succeeds().json()
}

#[test]
fn the_chain_is_listed_with_what_stands_in_its_way() {
    let home = configured(CHAIN);
    let rows = listed(&home);
    assert_eq!(
        rows[0],
        json!({
            "index": 1, "provider": "xai", "model": "grok-4", "base_url": null, "key_env": null,
            "setting": "fallback_providers", "usable": false,
            "problem": "no key is set for xai (api.x.ai)",
        })
    );
    assert_eq!(
        (&rows[1]["usable"], rows.as_array().unwrap().len()),
        (&json!(true), 2)
    );
    let shown = home.run(["fallback", "list"]);
    shown
        .succeeds()
        .prints_part("claude-x")
        .prints_part("no key is set for xai")
        .never_shows("canary");
    let empty = configured("");
    empty
        .run(["fallback", "list"])
        .succeeds()
        .prints("No fallback providers\n");
    assert_eq!(listed(&empty), json!([]));
}

#[test]
fn entries_come_and_go_and_comments_stay() {
    let home = configured(CHAIN);
    home.run([
        "fallback",
        "add",
        "deepseek",
        "deepseek-chat",
        "--key-env",
        "MY_KEY",
    ])
    .succeeds()
    .prints("✓ Added deepseek with deepseek-chat as entry 3\n")
    .says_part("no key is set for deepseek");
    home.run(["fallback", "remove", "xai"])
        .succeeds()
        .prints("✓ Removed xai with grok-4 from the chain\n");
    assert_eq!(
        home.read("config.yaml"),
        "# mine\nfallback_providers:  # in this order\n  # the quick one\n  # the thorough one\n  \
         - provider: anthropic\n    model: claude-x\n    api_key: canary-98765\n  - {provider: deepseek, \
         model: deepseek-chat, key_env: MY_KEY}\ntimezone: UTC  # kept\n"
    );
    home.run(["fallback", "remove", "2"]).succeeds();
    home.run(["fallback", "clear"])
        .succeeds()
        .prints("✓ Removed 1 entry from the chain\n");
    assert_eq!(home.read("config.yaml"), "# mine\ntimezone: UTC  # kept\n");
    home.run(["fallback", "clear"]).succeeds();
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let home = configured(CHAIN);
    for (args, part) in [
        (&["add", "nosuch", "m"][..], "no such provider: `nosuch`"),
        (&["add", "xai", "grok-4"], "is already in the chain"),
        (
            &["add", "custom", "m", "--base-url", "localhost:1"],
            "is not an HTTP address",
        ),
        (&["add", "custom", "m"], "needs an address"),
        (&["remove", "7"], "has no entry '7'"),
        (&["remove", "0"], "has no entry '0'"),
        (&["remove", "nosuch"], "has no entry 'nosuch'"),
    ] {
        let args = ["fallback"].into_iter().chain(args.iter().copied());
        home.run(args).exits(1).says_part(part);
    }
    home.run(["fallback", "add", "xai", " "]).exits(2);
    assert_eq!(home.read("config.yaml"), CHAIN);
}

#[test]
fn the_old_setting_is_part_of_the_chain() {
    let home = configured("fallback_model: {provider: xai, model: grok-4}\n");
    assert_eq!(listed(&home)[0]["setting"], "fallback_model");
    home.run(["fallback", "remove", "grok-4"]).succeeds();
    assert_eq!(listed(&home), json!([]));
}
