//! Settings of servers that have an effect over time: keepalive, idle limits, certificates, and
//! settings that change under a conversation.

use hermes_testkit::eventually;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, processes_with, script, wait_for_none};

/// One call, then a turn that ends when it is told to.
const TWO_TURNS: &str = "turns:\n  \
     - match: {user: one, step: 1}\n    calls: [{tool: mcp__srv__echo, arguments: {text: a}}]\n  \
     - match: {user: one}\n    text: first\n  \
     - match: {user: two, step: 1}\n    calls: [{tool: mcp__srv__echo, arguments: {text: second-echo}}]\n  \
     - match: {last: second-echo}\n    text: second\n  - text: missed\n";

#[test]
fn an_unused_server_is_ended_and_started_again_by_the_next_call() {
    let desk = Desk::new(&["idle-1"], "    idle_timeout_seconds: 1\n");
    desk.home.put("script.yaml", TWO_TURNS);
    let mut running = desk.home.hermes(["chat", "-Q"]).start();
    running.write_line("one");
    assert_eq!(running.next_line().as_deref(), Some("first"));
    wait_for_none("idle-1");
    running.write_line("two");
    assert_eq!(running.next_line().as_deref(), Some("second"));
}

#[test]
fn an_old_server_is_replaced() {
    let desk = Desk::new(&["old-1"], "    max_lifetime_seconds: 1\n");
    desk.home.put("script.yaml", TWO_TURNS);
    let mut running = desk.home.hermes(["chat", "-Q"]).start();
    running.write_line("one");
    assert_eq!(running.next_line().as_deref(), Some("first"));
    wait_for_none("old-1");
    running.write_line("two");
    assert_eq!(running.next_line().as_deref(), Some("second"));
}

#[test]
fn a_silent_server_is_asked_whether_it_is_there() {
    // Five seconds is the least.
    let desk = Desk::new(&["lists"], "    keepalive_interval: 1\n");
    desk.home.put("script.yaml", TWO_TURNS);
    let mut running = desk.home.hermes(["chat", "-Q"]).start();
    running.write_line("one");
    assert_eq!(running.next_line().as_deref(), Some("first"));
    eventually("the server was asked again", || {
        let log = desk.home.read("logs/mcp-stderr.log");
        log.matches("listed").count() >= 2
    });
    running.write_line("two");
    assert_eq!(running.next_line().as_deref(), Some("second"));
}

#[test]
fn a_server_that_the_settings_gain_is_used_in_the_next_turn() {
    let desk = Desk::new(&[], "");
    desk.settings("mcp: {auto_reload_on_config_change: true}\n");
    desk.home.put(
        "script.yaml",
        TWO_TURNS.replace("user: one, step: 1", "user: never"),
    );
    let mut running = desk.home.hermes(["chat", "-Q"]).start();
    running.write_line("one");
    assert_eq!(running.next_line().as_deref(), Some("first"));
    desk.settings(&format!(
        "mcp: {{auto_reload_on_config_change: true}}\nmcp_servers: {{srv: {{command: python3, args: [{}]}}}}\n",
        script().display()
    ));
    running.write_line("two");
    assert_eq!(running.next_line().as_deref(), Some("second"));
}

#[test]
fn settings_that_change_are_not_followed_where_that_is_off() {
    let desk = Desk::new(&[], "");
    let off = "mcp: {auto_reload_on_config_change: false}\n";
    desk.settings(off);
    desk.home.put(
        "script.yaml",
        TWO_TURNS
            .replace("user: one, step: 1", "user: never")
            .replace(
                "- text: missed",
                "- match: {last: No such tool}\n    text: missed",
            ),
    );
    let mut running = desk.home.hermes(["chat", "-Q"]).start();
    running.write_line("one");
    assert_eq!(running.next_line().as_deref(), Some("first"));
    desk.settings(&format!(
        "{off}mcp_servers: {{srv: {{command: python3, args: [{}, reload-2]}}}}\n",
        script().display()
    ));
    running.write_line("two");
    assert_eq!(running.next_line().as_deref(), Some("missed"));
    assert_eq!(processes_with("reload-2"), Vec::<u32>::new());
}

// check 16
#[test]
fn calls_of_servers_overlap_with_each_other_and_with_reading_files() {
    let desk = Desk::new(&[], "");
    let server = |name: &str| json!({"command": "python3", "args": [script(), name], "supports_parallel_tool_calls": true});
    let servers = json!({"srv": server("one"), "other": server("two")});
    desk.settings(&format!(
        "mcp_servers: {servers}\nmcp_discovery_timeout: 30\n"
    ));
    for name in ["a", "b", "c"] {
        desk.home.put(name, format!("text of {name}\n"));
    }
    let path = |name: &str| desk.home.path(name).display().to_string();
    let read = |name: &str| json!({"tool": "read_file", "arguments": {"path": path(name)}});
    // Each of the two answers only while the other runs.
    let meet = |server: &str, own: &str, other: &str| {
        let arguments = json!({"own": path(own), "other": path(other)});
        json!({"tool": format!("mcp__{server}__meet"), "arguments": arguments})
    };
    let calls = json!([
        meet("srv", "here-1", "here-2"),
        read("a"),
        read("b"),
        read("c"),
        meet("other", "here-2", "here-1"),
    ]);
    let run = desk.chat(&format!(
        "turns:\n  - match: {{step: 1}}\n    calls: {calls}\n  - match: {{last: met}}\n    text: done\n  - text: missed\n"
    ));
    run.succeeds().prints_part("done");
    let results = desk.results(&run);
    let expected = ["met", "text of a", "text of b", "text of c", "met"];
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.contains(expected), "{results:?}");
    }
}
