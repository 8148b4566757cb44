//! `hermes mcp …`.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, script};

#[test]
fn a_server_is_added_listed_tested_and_removed() {
    let desk = Desk::new(&[], "");
    desk.settings("");
    desk.home
        .run(["mcp", "list"])
        .succeeds()
        .prints_part("There are no MCP servers");
    let script = script().display().to_string();
    let add = [
        "mcp",
        "add",
        "my-srv",
        "--command",
        "python3",
        "--env",
        "K=v",
        "--connect-timeout",
        "9",
        "--args",
        &script,
    ];
    desk.home
        .run(add)
        .succeeds()
        .prints_part("Added the MCP server 'my-srv'");
    let text = desk.home.read("config.yaml");
    assert!(
        text.contains("my-srv") && text.contains("connect_timeout"),
        "{text}"
    );
    desk.home
        .run(add)
        .exits(1)
        .says_part("there is an MCP server 'my-srv' already");
    let listed = desk.home.run(["mcp", "list", "--json"]).succeeds().json();
    assert_eq!(
        listed,
        json!({"servers": [{
            "name": "my-srv", "transport": "stdio", "target": format!("python3 {script}"),
            "enabled": true, "tools": 9, "offered_tools": 9, "problem": null,
        }], "problems": []})
    );
    let tested = desk
        .home
        .run(["mcp", "test", "my-srv", "--json"])
        .succeeds()
        .json();
    assert_eq!(
        (&tested["ok"], &tested["tools"][0]["name"]),
        (&json!(true), &json!("echo"))
    );
    desk.home.run(["mcp", "remove", "my-srv"]).succeeds();
    assert!(!desk.home.read("config.yaml").contains("my-srv"));
}

#[test]
fn what_cannot_be_done_says_so() {
    let desk = Desk::new(&[], "");
    desk.home
        .run(["mcp", "test", "srw"])
        .exits(1)
        .says_part("did you mean 'srv'?");
    desk.home
        .run(["mcp", "remove", "none"])
        .exits(1)
        .says_part("no such MCP server: 'none'");
    desk.home
        .run(["mcp", "add", "a b", "--command", "x"])
        .exits(2);
    desk.home
        .run(["mcp", "add", "x"])
        .exits(2)
        .says_part("--command, --url or --preset");
    desk.home
        .run(["mcp", "add", "x", "--preset", "none"])
        .exits(2)
        .says_part("no such preset");
    desk.home
        .run(["mcp", "add", "x", "--url", "ftp://h"])
        .exits(2)
        .says_part("http://");
    desk.home
        .run(["mcp", "add", "x", "--command", "y", "--auth", "header"])
        .exits(2)
        .says_part("cannot be used with '--auth <AUTH>'");
    desk.home
        .run(["mcp", "add", "x", "--url", "http://h", "--args", "y"])
        .exits(2);
    desk.home
        .run(["mcp", "add", "x", "--command", "y", "--env", "K"])
        .exits(2)
        .says_part("NAME=VALUE");
    desk.home
        .run(["mcp", "install", "filesystm"])
        .exits(1)
        .says_part("did you mean 'filesystem'?");
    desk.home
        .run(["mcp", "configure", "srv"])
        .exits(1)
        .says_part("no terminal");
    desk.home
        .run(["mcp", "picker"])
        .exits(1)
        .says_part("no terminal");
    desk.home
        .run(["mcp", "catalog"])
        .succeeds()
        .prints_part("filesystem");
    let failed = desk
        .home
        .run(["mcp", "add", "x", "--command", "no-such-program"]);
    failed.exits(1).says_part("was not found");
    assert!(!desk.home.read("config.yaml").contains("no-such-program"));
}

#[test]
fn the_key_of_a_server_is_not_shown_while_it_is_typed() {
    let desk = Desk::new(&[], "");
    // Nobody listens on the port that is given to nobody.
    let add = [
        "mcp",
        "add",
        "x",
        "--url",
        "http://127.0.0.1:1/mcp",
        "--auth",
        "header",
    ];
    let mut terminal = desk.home.hermes(add).start_at_terminal();
    terminal.wait_for("API key");
    terminal.press("key-canary\r");
    terminal.wait_for("switched off?");
    terminal.press("y\r");
    let shown = terminal.wait();
    shown.succeeds().prints_part("Added the MCP server 'x'");
    assert!(!shown.stdout.contains("canary"), "{}", shown.stdout);
    assert!(desk.home.read(".env").contains("MCP_X_API_KEY=key-canary"));
    assert!(!desk.home.read("config.yaml").contains("canary"));
}
