//! Keys: which one is used, which ones rest, and where none ever goes.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::compaction::working;
use crate::world::{World, is_summary_request};

/// A world whose model is an endpoint with so many keys, of which only the last is good; the others
/// are answered like this.
fn with_keys(count: usize, bad: ScriptedAnswer) -> World {
    let good = format!("Bearer key-number-{}", count - 1);
    let server = ModelServer::start_with(move |request| {
        if request.header("authorization") == Some(&good) {
            ScriptedAnswer::text("done")
        } else {
            bad.clone()
        }
    });
    let world = World::with(server);
    world.home.put(
        "config.yaml",
        format!(
            "model: {{provider: lab, default: m, context_length: 200000}}\n\
             providers: {{lab: {{url: '{}'}}}}\nagent: {{api_max_retries: 3}}\n",
            world.server.base_url()
        ),
    );
    for number in 0..count {
        let key = format!("key-number-{number}");
        let added = world.home.run(["auth", "add", "lab", "--api-key", &key]);
        added.succeeds();
    }
    world
}

fn listed(world: &World) -> Vec<Value> {
    let listed = world.home.run(["auth", "list", "--json"]).json();
    listed[0]["entries"].as_array().unwrap().clone()
}

#[test]
fn rate_limited_key_is_set_aside_for_the_next_one() {
    let limited = ScriptedAnswer::status(429, &json!({"error": {"message": "slow down"}}));
    let world = with_keys(2, limited);
    world.ask("hi").succeeds().prints("done\n");
    assert!(world.bodies().len() <= 3, "{}", world.bodies().len());
    let entries = listed(&world);
    assert_eq!(entries[0]["status"], "exhausted");
    assert!(entries[0]["exhausted_until"].is_string(), "{entries:?}");
    assert_eq!(entries[1]["status"], "ok");
    let shown = world.home.run(["auth", "list"]);
    shown.succeeds().prints_part("exhausted until ");
    // The next start begins with the good one.
    let before = world.bodies().len();
    world.ask("hi").succeeds().prints("done\n");
    assert_eq!(world.bodies().len(), before + 1);
}

#[test]
fn nine_bad_keys_do_not_exhaust_the_retries() {
    let world = with_keys(
        10,
        ScriptedAnswer::status(401, &json!({"error": {"message": "bad key"}})),
    );
    world.ask("hi").succeeds().prints("done\n");
    assert_eq!(world.bodies().len(), 10);
    let entries = listed(&world);
    let resting = entries
        .iter()
        .filter(|entry| entry["status"] == "exhausted");
    assert_eq!(resting.count(), 9, "{entries:?}");
}

#[test]
fn key_of_another_provider_is_not_sent_to_a_custom_address() {
    let world = World::with(working(|| ScriptedAnswer::text("## Goal\nsummed up")));
    world.configure("context_length: 64000", "");
    let outcome = world
        .hermes(&["chat", "-Q", "-q", "do the long work"])
        .env("OPENAI_API_KEY", "sk-proj-canary-of-openai-0123456789")
        .env("OPENROUTER_API_KEY", "sk-or-v1-canary-of-openrouter-01234")
        .run();
    outcome.succeeds().prints("done\n");
    let received = world.server.received();
    assert!(
        received.iter().any(is_summary_request),
        "nothing was summed up"
    );
    for request in received {
        assert!(!request.contains("canary-of"), "{request:?}");
    }
}

/// A world whose default profile has a key in `.env` and one in `auth.json`, and asks a custom
/// endpoint with either.
fn with_profile(flags: &[&str]) -> World {
    let world = World::with(ModelServer::start_with(|request| {
        match request.header("authorization") {
            Some("Bearer key-of-the-pool-1" | "Bearer key-of-default-2") => {
                ScriptedAnswer::status(401, &json!({"error": {"message": "bad key"}}))
            }
            Some("Bearer key-of-the-pool-3") => ScriptedAnswer::text("done"),
            _ => ScriptedAnswer::status(400, &json!({"error": {"message": "no key"}})),
        }
    }));
    world.home.put(
        "config.yaml",
        format!(
            "model: {{provider: lab, default: m, context_length: 200000}}\n\
             providers: {{lab: {{url: '{}', key_env: LAB_KEY, api_key: ''}}}}\n",
            world.server.base_url()
        ),
    );
    let home = &world.home;
    home.run(["config", "set", "LAB_KEY", "key-of-default-2"])
        .succeeds();
    for number in [1, 3] {
        let key = format!("key-of-the-pool-{number}");
        home.run(["auth", "add", "lab", "--api-key", &key])
            .succeeds();
    }
    home.hermes(["profile", "create", "coder"])
        .args(flags)
        .run()
        .succeeds();
    world
}

#[test]
fn keys_of_the_default_profile_are_inherited_only_when_asked_for_and_never_copied() {
    let world = with_profile(&["--inherit-keys"]);
    let home = &world.home;
    home.run(["-p", "coder", "chat", "-Q", "-q", "hi"])
        .succeeds()
        .prints("done\n");
    let own = home.path("profiles/coder");
    for name in ["config.yaml", ".env", "auth.json"] {
        let text = std::fs::read_to_string(own.join(name)).unwrap_or_default();
        assert!(!text.contains("key-of-"), "{name}: {text}");
    }
    // What was learnt about a stored key is noted where it is stored.
    assert_eq!(listed(&world)[0]["status"], "exhausted");
    // It is masked like a key of the profile's own.
    let shown = home.run(["-p", "coder", "exec", "--", "echo", "key-of-default-2"]);
    shown.succeeds().never_shows("key-of-default-2");

    let world = with_profile(&[]);
    world
        .home
        .run(["-p", "coder", "chat", "-Q", "-q", "hi"])
        .exits(1);
    for request in world.server.questions() {
        let sent = request.header("authorization").unwrap_or_default();
        assert!(!sent.contains("key-of-"), "{sent}");
    }
}
