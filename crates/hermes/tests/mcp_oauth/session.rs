//! What a session does with a login: lists, calls, renews, and says when a person is needed.

use hermes_testkit::{ModelServer, ProgramOutput, ScriptedAnswer, TestHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::fresh;
use crate::guarded_server::{GuardedServer, log_in};

fn home_of(server: &GuardedServer) -> TestHome {
    let home = fresh();
    home.put(
        "config.yaml",
        format!("mcp_discovery_timeout: 60\n{}", server.guarded_only()),
    );
    home
}

fn add(home: &TestHome) -> Value {
    result(&home.run(["tools", "call", "mcp__guarded__add", "{\"a\": 2, \"b\": 3}"]))
}

fn result(run: &ProgramOutput) -> Value {
    let parsed = serde_json::from_str(&run.stdout);
    parsed.unwrap_or_else(|_| panic!("{run:?}"))
}

#[test]
fn tools_are_listed_and_called_and_an_expired_token_is_renewed() {
    let server = GuardedServer::start(3600);
    let home = home_of(&server);
    log_in(&home);
    home.run(["mcp", "test", "guarded"])
        .succeeds()
        .prints_part("add")
        .never_shows("-canary-");
    assert_eq!(add(&home)["result"], "5");
    assert_eq!(server.count("renewals"), 0);
    server.expire();
    assert_eq!(add(&home)["result"], "5");
    assert_eq!(server.count("renewals"), 1);
}

#[test]
fn two_processes_with_an_expired_token_renew_it_once() {
    let server = GuardedServer::start(3600);
    let home = home_of(&server);
    log_in(&home);
    assert_eq!(add(&home)["result"], "5");
    server.expire();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(add(&home)["result"], "5"));
        }
    });
    assert_eq!(
        (server.count("renewals"), server.count("refused_renewals")),
        (1, 0)
    );
}

#[test]
fn without_a_good_login_the_result_names_the_way_to_one() {
    let server = GuardedServer::start(3600);
    let home = home_of(&server);
    home.run(["mcp", "test", "guarded"])
        .exits(1)
        .says_part("hermes mcp login guarded");
    log_in(&home);
    assert_eq!(add(&home)["result"], "5");
    server.revoke();
    let run = home.run(["tools", "call", "mcp__guarded__add", "{\"a\": 2, \"b\": 3}"]);
    let refused = result(run.never_shows("-canary-"));
    assert_eq!(
        (&refused["needs_reauth"], &refused["server"]),
        (&json!(true), &json!("guarded"))
    );
    let message = refused["error"].as_str().unwrap();
    assert!(message.contains("hermes mcp login guarded"), "{message}");
    // A removed server leaves no tokens behind.
    home.run(["mcp", "remove", "guarded"]).succeeds();
    assert!(!home.has("mcp-tokens/guarded.json"));
}

#[test]
fn deferred_tools_are_found_and_called_and_the_list_stays_the_same() {
    let server = GuardedServer::start(3600);
    let home = home_of(&server);
    log_in(&home);
    home.run(["mcp", "test", "guarded"]).succeeds();
    let name = "mcp__guarded__add";
    let model = ModelServer::start([
        ScriptedAnswer::call("tool_search", &json!({"query": "add numbers"})),
        ScriptedAnswer::call("tool_describe", &json!({"name": name})),
        ScriptedAnswer::call(
            "tool_call",
            &json!({"name": name, "arguments": {"a": 20, "b": 22}}),
        ),
        ScriptedAnswer::text("done"),
        ScriptedAnswer::text("again"),
    ]);
    home.put(
        "config.yaml",
        format!(
            "model: {{default: m, provider: custom, base_url: '{}', api_key: key-0123456789}}\n\
             mcp_discovery_timeout: 60\ntools: {{tool_search: {{enabled: true}}}}\n{}",
            model.base_url(),
            server.guarded_only()
        ),
    );
    let first = home.run(["chat", "-Q", "-q", "add 20 and 22"]);
    first.succeeds().prints("done\n");
    home.run(["chat", "-Q", "-c", "-q", "and now?"]).succeeds();
    let asked = model.questions();
    assert_eq!(asked.len(), 5);
    let names: Vec<&str> = asked[0].body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"tool_call") && !names.contains(&name),
        "{names:?}"
    );
    for later in &asked[1..] {
        assert_eq!(later.body["tools"], asked[0].body["tools"]);
        assert_eq!(later.body["messages"][0], asked[0].body["messages"][0]);
    }
    let last = asked[3].body.to_string();
    assert!(last.contains(name) && last.contains("42"), "{last}");
}
