//! Calls of tools, one by one.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, wait_for_none};

#[test]
fn a_tool_of_a_server_is_called_like_any_other() {
    let desk = Desk::new(&["calls-1"], "");
    assert_eq!(
        desk.call("echo", json!({"text": "hallo"})),
        json!({"result": "hallo"})
    );
    assert_eq!(
        desk.call("fail", json!({})),
        json!({"error": "it went wrong"})
    );
    wait_for_none("calls-1");
}

// check 32
#[test]
fn a_server_sees_the_allowed_variables_and_its_own() {
    let desk = Desk::new(&[], "    env: {OWN: \"${CANARY_TOKEN}\", PLAIN: x}\n");
    desk.home.put(
        ".env",
        "CANARY_TOKEN=canary-dotenv-1\nOPENAI_API_KEY=sk-canary-2\n",
    );
    let run = desk
        .home
        .hermes(["tools", "call", "mcp__srv__env", "{}"])
        .env("ANTHROPIC_API_KEY", "sk-canary-3")
        .env("MY_SECRET", "canary-4")
        .env("XDG_CONFIG_HOME", "/x")
        .run()
        .succeeds()
        .json();
    // What the user gave the server is masked on its way to a model, and nothing else was given.
    let text = run["result"].as_str().unwrap();
    for absent in [
        "canary-2",
        "canary-3",
        "canary-4",
        "HERMES_HOME",
        "MY_SECRET",
        "OPENAI",
    ] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    let seen: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).unwrap();
    assert_eq!(seen["PLAIN"], "x");
    assert_eq!(seen["XDG_CONFIG_HOME"], "/x");
    assert!(seen.contains_key("OWN") && seen.contains_key("PATH") && seen.contains_key("HOME"));
}

// check 32
#[test]
fn a_bare_npx_is_found_in_the_users_own_directory() {
    let desk = Desk::new(&[], "");
    // The database of malware is not asked by tests.
    desk.home
        .put(".env", "OSV_ENDPOINT=http://127.0.0.1:9/v1/query\n");
    let bin = desk.home.user_home().join(".local/bin");
    std::fs::create_dir_all(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\nexec /usr/bin/env python3 {}\n",
        crate::script().display()
    );
    std::fs::write(bin.join("npx"), script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("npx"), mode).unwrap();
    desk.settings("mcp_servers: {srv: {command: npx, args: [-y, pkg], env: {PATH: \"/nowhere:/usr/bin:/bin\"}}}\n");
    if std::path::Path::new("/usr/bin/npx").exists() {
        desk.settings(
            "mcp_servers: {srv: {command: npx, args: [-y, pkg], env: {PATH: \"/nowhere\"}}}\n",
        );
        std::fs::write(
            bin.join("npx"),
            format!(
                "#!/bin/sh\nexec /usr/bin/python3 {}\n",
                crate::script().display()
            ),
        )
        .unwrap();
    }
    assert_eq!(
        desk.call("echo", json!({"text": "a"})),
        json!({"result": "a"})
    );
}

#[test]
fn a_picture_is_kept_as_a_file() {
    let desk = Desk::new(&[], "");
    let result = desk.call("picture", json!({}));
    assert_eq!(result["result"], "a picture");
    let path = result["files"][0]["path"].as_str().unwrap();
    assert!(std::fs::read(path).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn what_a_server_prints_is_in_its_log_with_secrets_masked() {
    let desk = Desk::new(&["exits"], "");
    let result = desk.call("echo", json!({}));
    let error = result["error"].as_str().unwrap();
    assert!(error.contains("Unknown tool"), "{error}");
    let log = desk.home.read("logs/mcp-stderr.log");
    assert!(
        log.contains("starting MCP server 'srv'") && log.contains("no licence found"),
        "{log}"
    );
}

#[test]
fn a_server_is_not_started_for_tools_that_are_known() {
    let desk = Desk::new(&["lazy-1"], "");
    assert_eq!(
        desk.call("echo", json!({"text": "x"})),
        json!({"result": "x"})
    );
    std::fs::remove_file(desk.home.path("logs/mcp-stderr.log")).unwrap();
    let listed = desk.home.run(["tools", "list", "--json"]).succeeds().json();
    let listed = listed.as_array().unwrap();
    assert!(
        listed
            .iter()
            .any(|tool| tool["name"] == "mcp__srv__echo" && tool["toolset"] == "mcp-srv")
    );
    assert!(!desk.home.has("logs/mcp-stderr.log"));
}
