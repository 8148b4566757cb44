//! Memory services in conversations: what they recall goes with the message, they get the completed
//! turn, and nothing of theirs delays or ends a conversation.

use std::path::Path;
use std::time::{Duration, Instant};

use hermes_testkit::{Asked, JsonServer, ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::{World, session_of};

/// A Mem0 server of one's own that knows one fact.
fn mem0() -> JsonServer {
    JsonServer::start(|asked: &Asked| match asked.line.as_str() {
        "POST /search" => {
            let fact = json!({"id": "m1", "memory": "The user drinks tea.", "score": 0.9});
            (200, json!({"results": [fact]}).to_string())
        }
        _ => (200, "{}".to_owned()),
    })
}

fn world(service: &JsonServer, answers: impl IntoIterator<Item = ScriptedAnswer>) -> World {
    let world = World::configured(ModelServer::start(answers), "memory: {provider: mem0}\n");
    let file =
        json!({"host": service.base, "api_key": "m0-secret-key-of-the-test", "user_id": "ann"});
    world.home.put("mem0.json", file.to_string());
    world
}

fn of_line<'a>(asked: &'a [Asked], line: &str) -> Vec<&'a Asked> {
    asked.iter().filter(|one| one.line == line).collect()
}

#[test]
fn recalled_facts_go_with_the_message_and_the_turn_is_kept() {
    let service = mem0();
    let world = world(&service, [ScriptedAnswer::text("Tea, then.")]);
    let run = world.ask("What do I drink?");
    run.succeeds().prints("Tea, then.\n");
    let asked = service.asked();
    let recall = of_line(&asked, "POST /search");
    assert_eq!(recall.len(), 1);
    assert_eq!(recall[0].body["query"], "What do I drink?");
    assert_eq!(
        recall[0].header("x-api-key"),
        Some("m0-secret-key-of-the-test")
    );
    let kept = of_line(&asked, "POST /memories");
    assert_eq!(kept.len(), 1, "{asked:?}");
    let messages = json!([
        {"role": "user", "content": "What do I drink?"},
        {"role": "assistant", "content": "Tea, then."},
    ]);
    assert_eq!(kept[0].body["messages"], messages);
    assert_eq!(kept[0].body["infer"], true);
    let sent = world.last_messages().pop().unwrap();
    let sent = sent["content"].as_str().unwrap();
    assert!(
        sent.starts_with("What do I drink?\n\n<memory-context>"),
        "{sent}"
    );
    assert!(sent.contains("- The user drinks tea."), "{sent}");
    let stored = world.stored(&session_of(&run));
    assert_eq!(
        stored[0]["content"], "What do I drink?",
        "the stored text stays the user's"
    );
    let logs = world.home.read("logs/agent.log");
    assert!(!format!("{}{}{logs}", run.stdout, run.stderr).contains("m0-secret-key"));
}

#[test]
fn tools_of_a_service_are_offered_and_called() {
    let service = mem0();
    let call = ScriptedAnswer::call("mem0_search", &json!({"query": "tea"}));
    let world = world(&service, [call, ScriptedAnswer::text("done")]);
    world.ask("look").succeeds();
    let offered: Vec<Value> = world.bodies()[0]["tools"].as_array().unwrap().clone();
    let names = offered
        .iter()
        .filter_map(|tool| tool["function"]["name"].as_str());
    let names: Vec<&str> = names.filter(|name| name.starts_with("mem0_")).collect();
    assert_eq!(
        names,
        ["mem0_search", "mem0_add", "mem0_update", "mem0_delete"]
    );
    let result = world.last_messages().pop().unwrap();
    assert!(
        result["content"]
            .as_str()
            .unwrap()
            .contains("The user drinks tea.")
    );
}

#[test]
fn silent_service_costs_three_seconds_and_one_line() {
    let service = JsonServer::start(|_| {
        std::thread::park();
        (200, "{}".to_owned())
    });
    let world = world(&service, [ScriptedAnswer::text("one")]);
    let begun = Instant::now();
    let run = world.ask("hello");
    run.succeeds().prints("one\n");
    run.says_part("the memory service mem0 recalled nothing: no answer within 3 s");
    run.says_part("1 turn was not given to the memory service mem0");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn service_that_cannot_be_used_is_told_of_and_the_conversation_goes_on() {
    for (settings, said) in [
        ("memory: {provider: mem0}", "MEM0_API_KEY is not set"),
        (
            "memory: {provider: nosuch}",
            "'nosuch' is no memory service",
        ),
        (
            "memory: {provider: 'mcp:nosuch'}",
            "memory.mcp names neither",
        ),
    ] {
        let model = ModelServer::always(ScriptedAnswer::text("fine"));
        let world = World::configured(model, &format!("{settings}\n"));
        let run = world.ask("hello");
        run.succeeds().prints("fine\n").says_part(said);
    }
    let service = JsonServer::start(|_| (401, json!({"detail": "Invalid token"}).to_string()));
    let world = world(&service, [ScriptedAnswer::text("fine")]);
    let run = world.ask("hello");
    run.succeeds()
        .prints("fine\n")
        .says_part("recalled nothing: it does not accept the key: Invalid token");
    assert_eq!(run.stderr.matches("memory service").count(), 1, "{run}");
}

#[test]
fn without_rules_nothing_is_recalled_or_kept() {
    let service = mem0();
    let world = world(&service, [ScriptedAnswer::text("fine")]);
    let run = world
        .hermes(&["--ignore-rules", "chat", "-Q", "-q", "hello"])
        .run();
    run.succeeds();
    assert_eq!(service.asked().len(), 0);
}

#[test]
fn failed_turn_is_not_kept() {
    let service = mem0();
    let world = world(&service, [ScriptedAnswer::status(401, &json!({}))]);
    world.ask("hello").exits(1);
    assert_eq!(of_line(&service.asked(), "POST /memories").len(), 0);
}

/// An MCP server that keeps what it is told in a file, and finds it there.
const SERVER: &str = r#"
import json, sys
kept = sys.argv[1]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, result = message["method"], {}
    if method == "initialize":
        result = {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "notes", "version": "1"}}
    elif method == "tools/list":
        text = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
        store = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        result = {"tools": [{"name": "recall", "inputSchema": text},
                            {"name": "remember", "inputSchema": store}]}
    elif method == "tools/call":
        given = message["params"]["arguments"]
        if message["params"]["name"] == "remember":
            open(kept, "a").write(json.dumps(given["text"]) + "\n")
            answer = "ok"
        else:
            answer = "- " + given["q"].upper() + "\n- second fact\n"
        result = {"content": [{"type": "text", "text": answer}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

fn with_server(answers: impl IntoIterator<Item = ScriptedAnswer>) -> (World, std::path::PathBuf) {
    let world = World::with(ModelServer::start(answers));
    world.home.put("notes.py", SERVER);
    let kept = world.home.path("kept.jsonl");
    let program = world.home.path("notes.py");
    let args = json!([program, kept]);
    let servers = format!("mcp_servers:\n  notes: {{command: python3, args: {args}}}\n");
    world.configure("context_length: 200000", &servers);
    (world, kept)
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn mcp_server_recalls_and_stores_after_its_setup() {
    let (world, kept) = with_server([ScriptedAnswer::text("noted")]);
    let setup = world.home.run(["memory", "setup", "mcp:notes"]);
    setup
        .succeeds()
        .prints_part("recalls with recall(q), stores with remember(text)")
        .prints_part("✓ mcp:notes is used from the next session on (2 tools)");
    world
        .home
        .run(["memory"])
        .prints_part("Memory service: mcp:notes");
    world
        .ask("my cat is called Tom")
        .succeeds()
        .prints("noted\n");
    let sent = world.last_messages().pop().unwrap();
    let sent = sent["content"].as_str().unwrap();
    assert!(
        sent.contains("- MY CAT IS CALLED TOM\n- second fact\n</memory-context>"),
        "{sent}"
    );
    assert_eq!(
        lines(&kept),
        [json!("User: my cat is called Tom\n\nAssistant: noted")]
    );
    world.home.run(["memory", "off"]).succeeds();
    world.home.run(["memory", "status", "--json"]).succeeds();
}

#[test]
fn setup_refuses_what_cannot_work_and_changes_nothing() {
    let (world, _) = with_server([]);
    let provider = || world.home.run(["config", "get", "memory.provider"]).stdout;
    for (args, said) in [
        (vec!["mcp:nosuch"], "no such MCP server: 'nosuch'"),
        (
            vec!["mcp:notes", "--recall-tool", "recal"],
            "it has no tool 'recal'",
        ),
        (vec!["memo"], "there is no memory service 'memo'"),
        (
            vec!["mem0"],
            "mem0 needs a key, and MEM0_API_KEY is not set",
        ),
    ] {
        let words = ["memory", "setup"].into_iter().chain(args.iter().copied());
        let words: Vec<&str> = words.collect();
        world
            .home
            .hermes(&words)
            .stdin("")
            .run()
            .exits(1)
            .says_part(said);
        assert_eq!(provider(), "\n");
    }
    let words = ["memory", "setup", "mem0", "--store-tool", "x"];
    world.home.run(words).exits(2);
    let refusing = JsonServer::start(|_| (401, "{}".to_owned()));
    world
        .home
        .put("mem0.json", json!({"host": refusing.base}).to_string());
    let refused = world.home.run(["memory", "setup", "mem0"]);
    refused.exits(3).says_part("it does not accept the key");
    assert_eq!(provider(), "\n");
    let unchecked = world.home.run(["memory", "setup", "mem0", "--no-check"]);
    unchecked.succeeds();
    assert_eq!(provider(), "mem0\n");
    let listed = world.home.run(["memory", "setup"]);
    listed
        .succeeds()
        .prints_part("supermemory: SUPERMEMORY_API_KEY is not set");
}
