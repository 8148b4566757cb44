//! Plugins in conversations: their tools are called, their hooks decide and hear.

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{Desk, calling};

#[test]
fn an_agent_calls_a_tool_of_a_plugin_under_its_own_name() {
    let desk = Desk::new("plugins: {enabled: [notes]}\n");
    desk.put_server("notes", &[], "");
    let run = desk.chat(
        "turns:\n  - match: {step: 1}\n    calls: [{tool: shout, arguments: {text: hallo}}]\n  \
         - match: {last: HALLO}\n    text: heard\n  - text: missed\n",
    );
    run.succeeds().prints_part("heard");
    let tools = desk.run(&["tools", "list", "--json"]).succeeds().json();
    assert!(tools.to_string().contains("shout"), "{tools}");
}

#[test]
fn a_plugin_that_is_not_enabled_or_in_safe_mode_brings_nothing() {
    let call = "turns:\n  - match: {step: 1}\n    calls: [{tool: shout, arguments: {text: x}}]\n  \
                - match: {last: \"Unknown tool\"}\n    text: unknown\n  - text: missed\n";
    for settings in ["", "plugins: {enabled: [notes], disabled: [notes]}\n"] {
        let desk = Desk::new(settings);
        desk.put_server("notes", &["touch"], "provides_hooks: [pre_llm_call]\n");
        let run = desk.chat(call);
        assert!(!run.stdout.contains("missed"), "{run:?}");
        assert_eq!(desk.heard("notes"), Vec::<Value>::new());
    }
    let desk = Desk::new("plugins: {enabled: [notes]}\n");
    desk.put_server("notes", &[], "provides_hooks: [pre_llm_call]\n");
    desk.home.put("script.yaml", "turns: [{text: done}]\n");
    let safe = desk.home.hermes(["chat", "-Q", "-q", "go"]);
    safe.env("HERMES_SAFE_MODE", "1").run().succeeds();
    assert_eq!(desk.heard("notes"), Vec::<Value>::new());
    desk.run(&["chat", "-Q", "-q", "go"]).succeeds();
    assert_eq!(desk.heard("notes").len(), 1);
}

#[test]
fn a_plugin_gets_only_the_secrets_that_its_manifest_names() {
    let desk = Desk::new("plugins: {enabled: [notes]}\n");
    desk.put_server(
        "notes",
        &[],
        "requires_env: [{name: NOTES_KEY, secret: true}]\n",
    );
    desk.home.put(
        ".env",
        "NOTES_KEY=for-the-plugin-only\nOPENAI_API_KEY=sk-not-for-it\n",
    );
    let call = desk.home.hermes(["tools", "call", "secrets", "{}"]);
    let run = call.env("ANTHROPIC_API_KEY", "sk-neither").run();
    let text = run.succeeds().stdout.clone();
    assert!(text.contains("NOTES_KEY"), "{text}");
    for name in [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "sk-not-for-it",
        "sk-neither",
    ] {
        assert!(!text.contains(name), "{name}: {text}");
    }
    assert!(
        text.contains("plugins/notes"),
        "it runs in its directory: {text}"
    );
    run.never_shows("for-the-plugin-only");
}

#[test]
fn a_hook_of_a_server_refuses_a_call_and_adds_to_a_message() {
    let desk = Desk::new("plugins: {enabled: [notes]}\n");
    let hooks = "provides_hooks: [pre_tool_call, post_tool_call, pre_llm_call, on_session_start]\n";
    desk.put_server("notes", &[], hooks);
    desk.chat(&calling("touch forbidden", "the plugin forbids it"))
        .succeeds()
        .prints_part("as expected");
    assert!(!desk.home.path("forbidden").exists());
    let heard = desk.heard("notes");
    let events: Vec<&str> = heard
        .iter()
        .map(|event| event["hook_event_name"].as_str().unwrap())
        .collect();
    for event in [
        "on_session_start",
        "pre_llm_call",
        "pre_tool_call",
        "post_tool_call",
    ] {
        assert!(events.contains(&event), "{event}: {events:?}");
    }
    let asked = heard
        .iter()
        .find(|one| one["hook_event_name"] == "pre_tool_call");
    let asked = asked.unwrap();
    assert_eq!(asked["tool_name"], "terminal");
    assert_eq!(asked["tool_input"], json!({"command": "touch forbidden"}));
    desk.chat(&calling("echo fine", "fine"))
        .succeeds()
        .prints_part("as expected");
}

#[test]
fn a_script_refuses_a_call_as_a_shell_hook_does() {
    let desk = Desk::new("plugins: {enabled: [guard]}\n");
    let script = "read -r event\ncase $event in *forbidden*) echo not this one >&2; exit 2;; esac";
    desk.put_script("guard", script, "pre_tool_call");
    desk.chat(&calling("touch forbidden", "not this one"))
        .succeeds()
        .prints_part("as expected");
    desk.chat(&calling("echo fine", "fine"))
        .succeeds()
        .prints_part("as expected");
}

// check 32
#[test]
fn a_hook_that_sleeps_delays_a_call_by_two_seconds_and_no_more() {
    for kind in ["exec", "mcp"] {
        let desk = Desk::new("plugins: {enabled: [slow]}\n");
        let put = || match kind {
            "exec" => desk.put_script("slow", "sleep 60", "pre_tool_call"),
            _ => desk.put_server("slow", &["hang"], "provides_hooks: [pre_tool_call]\n"),
        };
        put();
        let quick = Desk::new("");
        let begun = Instant::now();
        quick
            .chat(&calling("echo fine", "fine"))
            .succeeds()
            .prints_part("as expected");
        let usual = begun.elapsed();
        // What its tools are is found out before.
        desk.chat("turns: [{text: done}]\n").succeeds();
        let begun = Instant::now();
        desk.chat(&calling("echo fine", "fine"))
            .succeeds()
            .prints_part("as expected");
        let took = begun.elapsed();
        assert!(took >= Duration::from_millis(1_900), "{kind}: {took:?}");
        assert!(
            took < usual * 3 + Duration::from_millis(2_500),
            "{kind}: {took:?}, without it {usual:?}"
        );
        desk.settings(
            "plugins: {enabled: [slow], entries: {slow: {fail_closed: true, hook_timeout_seconds: 0.5}}}\n",
        );
        desk.chat(&calling("touch made", "must agree to it"))
            .succeeds()
            .prints_part("as expected");
    }
}

#[test]
fn observers_never_delay_a_turn_and_hear_of_its_end() {
    let desk = Desk::new("plugins: {enabled: [slow]}\n");
    let script = "cat >> heard; echo >> heard; sleep 0.3";
    desk.put_script(
        "slow",
        script,
        "post_tool_call, post_llm_call, on_session_end",
    );
    desk.chat(&calling("echo fine", "fine"))
        .succeeds()
        .prints_part("as expected");
    let heard = desk.heard("slow");
    let events: Vec<&str> = heard
        .iter()
        .map(|event| event["hook_event_name"].as_str().unwrap())
        .collect();
    assert_eq!(
        events,
        ["post_tool_call", "post_llm_call", "on_session_end"]
    );
}

#[test]
fn a_built_in_tool_is_replaced_only_with_permission() {
    let desk = Desk::new("plugins: {enabled: [notes]}\n");
    desk.put_server("notes", &["terminal"], "");
    desk.chat(&calling("echo real", "real"))
        .succeeds()
        .prints_part("as expected");
    desk.run(&["plugins", "enable", "notes", "--allow-tool-override"])
        .succeeds();
    desk.chat(&calling("echo real", "not a shell: echo real"))
        .succeeds()
        .prints_part("as expected");
    desk.run(&["plugins", "enable", "notes", "--no-allow-tool-override"])
        .succeeds();
    let run = desk.chat(&calling("echo real", "not a shell"));
    assert!(run.succeeds().stdout.contains("missed"), "{run:?}");
}

#[test]
fn a_plugin_that_dies_in_a_call_is_started_again_by_the_next() {
    let desk = Desk::new("plugins: {enabled: [notes]}\n");
    desk.put_server("notes", &[], "");
    let run = desk.chat(
        "turns:\n  - match: {step: 1}\n    calls: [{tool: die, arguments: {}}]\n  \
         - match: {last: \"Plugin 'notes'\"}\n    calls: [{tool: shout, arguments: {text: again}}]\n  \
         - match: {last: AGAIN}\n    text: as expected\n  - text: missed\n",
    );
    run.succeeds().prints_part("as expected");
}
