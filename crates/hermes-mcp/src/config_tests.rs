use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn parse(entry: Value) -> Result<ServerConfig, String> {
    ServerConfig::parse("srv", &entry).map_err(|error| error.to_string())
}

#[test]
fn a_program_gets_the_usual_limits() {
    let server =
        parse(json!({"command": "npx", "args": ["-y", "pkg", 8080], "env": {"K": 1}})).unwrap();
    let Transport::Stdio(stdio) = &server.transport else {
        panic!("{server:?}");
    };
    assert_eq!(stdio.args, ["-y", "pkg", "8080"]);
    assert_eq!(stdio.env.get("K").map(String::as_str), Some("1"));
    assert_eq!(server.timeout, Duration::from_mins(5));
    assert_eq!(server.connect_timeout, Duration::from_mins(1));
    assert_eq!(server.keepalive, Duration::from_mins(3));
    assert!(server.enabled && !server.parallel_calls);
}

#[test]
fn what_people_write_for_numbers_and_flags_is_understood() {
    let server = parse(json!({
        "command": "x", "enabled": "no", "timeout": "2.5", "keepalive_interval": 1,
        "lifecycle": {"idle_timeout_seconds": 30}, "max_lifetime_seconds": 0,
        "tools": {"include": "one", "resources": "off"},
    }))
    .unwrap();
    assert!(!server.enabled);
    assert_eq!(server.timeout, Duration::from_millis(2_500));
    assert_eq!(server.keepalive, Duration::from_secs(5));
    assert_eq!(server.idle_timeout, Some(Duration::from_secs(30)));
    assert_eq!(server.max_lifetime, None);
    assert!(server.filter.allows("one") && !server.filter.allows("two"));
    assert!(server.filter.no_resources && !server.filter.no_prompts);
}

#[test]
fn an_address_wins_over_a_command() {
    let server = parse(json!({
        "url": "https://h/mcp?key=1", "command": "x", "transport": "sse", "auth": "oauth",
        "headers": {"Authorization": "Bearer t"}, "ssl_verify": "/ca.pem", "client_cert": ["/c", "/k"],
    }))
    .unwrap();
    assert_eq!(
        (server.transport_name(), server.summary().as_str()),
        ("sse", "https://h/mcp")
    );
    let Transport::Remote(remote) = &server.transport else {
        panic!("{server:?}");
    };
    assert_eq!(remote.auth, Auth::OAuth);
    assert_eq!(remote.verify, Verify::Against(PathBuf::from("/ca.pem")));
    assert_eq!(
        remote.client_certificate.as_ref().unwrap().key,
        Some(PathBuf::from("/k"))
    );
    assert!(!format!("{server:?}").contains("Bearer t"));
}

#[test]
fn errors_name_the_server_and_the_key() {
    for (entry, expected) in [
        (json!("x"), "mcp_servers.srv: expected a mapping, got text"),
        (
            json!({}),
            "mcp_servers.srv: expected `command` (a program), `addon` (a package of npm) or `url` (an address)",
        ),
        (
            json!({"command": ""}),
            "mcp_servers.srv.command: the command is empty",
        ),
        (
            json!({"command": "x", "args": {}}),
            "mcp_servers.srv.args: expected a list, got a mapping",
        ),
        (
            json!({"command": "x", "env": {"A": []}}),
            "mcp_servers.srv.env.A: expected text, got a list",
        ),
        (
            json!({"command": "x", "timeout": -1}),
            "mcp_servers.srv.timeout: expected a number that is not negative",
        ),
        (
            json!({"command": "x", "enabled": "maybe"}),
            "mcp_servers.srv.enabled: expected true or false",
        ),
        (
            json!({"command": "x", "tools": []}),
            "mcp_servers.srv.tools: expected a mapping, got a list",
        ),
        (
            json!({"command": "x", "tools": {"include": [[]]}}),
            "mcp_servers.srv.tools.include: expected text, got a list",
        ),
        (
            json!({"url": 3}),
            "mcp_servers.srv.url: expected text, got a number",
        ),
        (
            json!({"url": "example.com/mcp"}),
            "mcp_servers.srv.url: 'example.com/mcp' is not an address: relative URL without a base",
        ),
        (
            json!({"url": "file:///x"}),
            "mcp_servers.srv.url: an address begins with http:// or https://, not with file:",
        ),
        (
            json!({"url": "https://h", "transport": "ws"}),
            "mcp_servers.srv.transport: expected `http` or `sse`, got 'ws'",
        ),
        (
            json!({"url": "https://h", "auth": "basic"}),
            "mcp_servers.srv.auth: expected `oauth` or `header`, got 'basic'",
        ),
        (
            json!({"url": "https://h", "client_key": "/k"}),
            "mcp_servers.srv.client_key: a key without `client_cert` has no use",
        ),
    ] {
        assert_eq!(parse(entry.clone()).unwrap_err(), expected, "{entry}");
    }
}

#[test]
fn the_fingerprint_follows_what_is_run_and_not_the_secrets() {
    let of = |entry| parse(entry).unwrap().fingerprint().to_owned();
    let one = of(json!({"command": "x", "args": ["a"], "env": {"K": "1"}}));
    assert_eq!(
        one,
        of(json!({"command": "x", "args": ["a"], "env": {"K": "2"}, "timeout": 1}))
    );
    assert_ne!(
        one,
        of(json!({"command": "x", "args": ["b"], "env": {"K": "1"}}))
    );
    assert_ne!(one, of(json!({"command": "x", "args": ["a"]})));
    let asking =
        json!({"command": "x", "args": ["a"], "env": {"K": "1"}, "sampling": {"enabled": true}});
    assert_ne!(one, of(asking));
}
