//! What a chat tab has beside its terminal: conversations by JSON-RPC, and channels.

use std::io::{BufReader, Write as _};
use std::net::TcpStream;

use hermes_testkit::TestHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::{client_message, next_message};
use super::server::{CANARY, Server, TOKEN, dashboard, home};

/// A WebSocket of a test.
struct Client(BufReader<TcpStream>);

impl Client {
    fn open(server: &Server, path: &str) -> Self {
        let join = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{join}token={TOKEN}");
        let (answer, connection) = server.request("GET", &path).upgrade().open();
        assert_eq!(answer.status, 101, "{path}");
        Self(connection)
    }

    fn say(&mut self, text: &str) {
        let message = client_message(true, text.as_bytes());
        self.0.get_mut().write_all(&message).unwrap();
    }

    fn ask(&mut self, id: &str, method: &str, params: &Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(&request.to_string());
    }

    fn next(&mut self) -> Value {
        let message = next_message(&mut self.0).unwrap();
        serde_json::from_slice(&message).unwrap()
    }

    /// The answer to a request, and the events before it.
    fn answer(&mut self, id: &str) -> (Value, Vec<Value>) {
        let mut events = Vec::new();
        loop {
            let message = self.next();
            if message["id"] == id {
                return (message, events);
            }
            assert_eq!(message["method"], "event", "{message}");
            events.push(message["params"].clone());
        }
    }

    /// Events up to the first of this type.
    fn events_until(&mut self, kind: &str) -> Vec<Value> {
        let mut events: Vec<Value> = Vec::new();
        while events.last().is_none_or(|event| event["type"] != kind) {
            events.push(self.next()["params"].clone());
        }
        events
    }
}

fn with_script(script: &str) -> TestHome {
    let home = home();
    home.put("script.yaml", script);
    home.put(
        "config.yaml",
        "model: {default: demo, provider: replay, script: script.yaml}\n\
         approvals: {mode: manual}\nterminal: {sandbox: 'off'}\n",
    );
    home
}

fn with_tab(home: &TestHome) -> Server {
    Server::start(dashboard(home).arg("--tui"))
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|one| one["type"].as_str())
        .collect()
}

#[test]
fn a_conversation_is_begun_and_its_answer_told() {
    let home = with_script("turns:\n  - text: The stone is a sapphire.\n");
    let server = with_tab(&home);
    let mut client = Client::open(&server, "/api/ws");
    let ready = client.next();
    assert_eq!(ready["method"], "event");
    assert_eq!(ready["params"]["type"], "gateway.ready");

    for (sent, code) in [
        ("{no json", -32700),
        ("[]", -32600),
        ("{\"id\": 1}", -32600),
    ] {
        client.say(sent);
        assert_eq!(client.next()["error"]["code"], code, "{sent}");
    }
    client.ask("a", "pet.hatch", &json!({}));
    let (answer, _) = client.answer("a");
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let nobody = json!({"session_id": "nosuch", "text": "hello"});
    client.ask("b", "prompt.submit", &nobody);
    assert_eq!(client.answer("b").0["error"]["code"], 4001);
    client.ask("c", "session.create", &json!({"profile": "another"}));
    let (answer, _) = client.answer("c");
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("-p another"),
        "{answer}"
    );

    // As the reference's own tab begins.
    let begin = json!({"close_on_disconnect": true, "source": "tool"});
    client.ask("d", "session.create", &begin);
    let (answer, events) = client.answer("d");
    let created = &answer["result"];
    assert_eq!(created["info"]["model"], "demo");
    assert_eq!(created["info"]["provider"], "replay");
    let id = created["session_id"].as_str().unwrap().to_owned();
    let info = if events.is_empty() {
        client.next()["params"].clone()
    } else {
        events[0].clone()
    };
    assert_eq!(info["type"], "session.info");
    assert_eq!(info["session_id"], *id);
    assert!(
        server.get("/api/sessions")["sessions"]
            .as_array()
            .unwrap()
            .is_empty()
    );

    let prompt = json!({"session_id": id, "text": "which stone?"});
    client.ask("e", "prompt.submit", &prompt);
    let (answer, mut events) = client.answer("e");
    assert_eq!(answer["result"]["status"], "streaming", "{answer}");
    events.extend(client.events_until("message.complete"));
    assert_eq!(events[0]["type"], "message.start");
    let deltas = events.iter().filter(|one| one["type"] == "message.delta");
    let text: String = deltas
        .filter_map(|one| one["payload"]["text"].as_str())
        .collect();
    assert_eq!(text, "The stone is a sapphire.");
    let end = &events.last().unwrap()["payload"];
    assert_eq!(end["status"], "complete");
    assert_eq!(end["text"], "The stone is a sapphire.");
    let stored = created["stored_session_id"].as_str().unwrap();
    let sessions = server.get("/api/sessions");
    assert_eq!(sessions["sessions"][0]["id"], stored, "{sessions}");
    client.events_until("session.info");

    // Empty ones are refused, and the same client may go on.
    client.ask(
        "f",
        "prompt.submit",
        &json!({"session_id": id, "text": " "}),
    );
    assert_eq!(client.answer("f").0["error"]["code"], 4004);
    client.ask("g", "session.close", &json!({"session_id": id}));
    assert_eq!(client.answer("g").0["result"]["closed"], true);
    client.ask("h", "prompt.submit", &prompt);
    assert_eq!(client.answer("h").0["error"]["code"], 4001);
    client.ask("i", "model.options", &json!({}));
    assert_eq!(client.answer("i").0["result"]["provider"], "replay");
}

#[test]
fn a_risky_command_is_asked_for_and_a_turn_can_be_interrupted() {
    let command = "rm -rf ./never-there";
    let home = with_script(&format!(
        "turns:\n  - calls: [{{tool: terminal, arguments: {{command: {command}}}}}]\n  - text: Done.\n"
    ));
    let server = with_tab(&home);
    let mut client = Client::open(&server, "/api/ws");
    client.ask("a", "session.create", &json!({}));
    let id = client.answer("a").0["result"]["session_id"].clone();
    let prompt = json!({"session_id": id, "text": "tidy up"});
    client.ask("b", "prompt.submit", &prompt);
    client.answer("b");
    let events = client.events_until("approval.request");
    let asked = &events.last().unwrap()["payload"];
    assert!(
        asked["command"].as_str().unwrap().contains(command),
        "{asked}"
    );
    client.ask("c", "prompt.submit", &prompt);
    let (busy, _) = client.answer("c");
    assert_eq!(busy["error"]["code"], 4009, "{busy}");
    client.ask(
        "d",
        "approval.respond",
        &json!({"session_id": id, "choice": "deny"}),
    );
    let (answer, mut events) = client.answer("d");
    assert_eq!(answer["result"]["resolved"], 1, "{answer}");
    events.extend(client.events_until("message.complete"));
    assert!(kinds(&events).contains(&"tool.complete"), "{events:?}");
    client.events_until("session.info");

    // Once more, and interrupted while it waits.
    home.put(
        "script.yaml",
        format!(
            "turns:\n  - calls: [{{tool: terminal, arguments: {{command: {command}}}}}]\n  - text: Done.\n"
        ),
    );
    client.ask("e", "session.create", &json!({}));
    let id = client.answer("e").0["result"]["session_id"].clone();
    client.ask(
        "f",
        "prompt.submit",
        &json!({"session_id": id, "text": "tidy up"}),
    );
    client.answer("f");
    client.events_until("approval.request");
    client.ask("g", "session.interrupt", &json!({"session_id": id}));
    let (answer, mut events) = client.answer("g");
    assert_eq!(answer["result"]["status"], "interrupted", "{answer}");
    if !kinds(&events).contains(&"message.complete") {
        events.extend(client.events_until("message.complete"));
    }
    let end = events.iter().find(|one| one["type"] == "message.complete");
    assert_eq!(end.unwrap()["payload"]["status"], "interrupted");
}

#[test]
fn what_is_said_on_a_channel_reaches_those_who_listen_there() {
    let home = home();
    home.put(".env", format!("OPENROUTER_API_KEY={CANARY}\n"));
    let server = with_tab(&home);
    let mut first = Client::open(&server, "/api/events?channel=tab-1");
    let mut second = Client::open(&server, "/api/events?channel=tab-1");
    let mut other = Client::open(&server, "/api/events?channel=tab.2");
    let mut speaker = Client::open(&server, "/api/pub?channel=tab-1");
    let said = json!({"method": "event", "params": {"type": "session.info", "payload": {"title": CANARY}}});
    speaker.say(&said.to_string());
    for listener in [&mut first, &mut second] {
        let heard = listener.next();
        assert_eq!(heard["params"]["type"], "session.info");
        assert!(!heard.to_string().contains(CANARY), "{heard}");
    }
    // The other channel has heard nothing of it: the first there is what is said there.
    Client::open(&server, "/api/pub?channel=tab.2").say("{\"only\": 2}");
    assert_eq!(other.next()["only"], 2);
    for path in [
        "/api/events",
        "/api/pub?channel=a/b",
        "/api/events?channel=%22",
    ] {
        let join = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{join}token={TOKEN}");
        let refused = server.request("GET", &path).upgrade().send();
        assert_eq!(refused.expect(400)["code"], 4400, "{path}");
    }
    let (taken, code) = server.terminate();
    assert!(taken < std::time::Duration::from_secs(2), "{taken:?}");
    assert_eq!(code, 0);
}

#[test]
fn they_want_what_every_websocket_wants_and_are_off_with_the_tab() {
    let home = home();
    let server = with_tab(&home);
    for path in ["/api/ws", "/api/pub?channel=a", "/api/events?channel=a"] {
        let bare = server.request("GET", path).upgrade();
        assert_eq!(bare.send().expect(401)["code"], 4401, "{path}");
        let join = if path.contains('?') { '&' } else { '?' };
        let own = server.request("GET", &format!("{path}{join}token={TOKEN}"));
        let evil = own.clone().upgrade().header("Origin", "http://evil.com");
        assert_eq!(evil.send().expect(403)["code"], 4403, "{path}");
        assert_eq!(server.with_token("GET", path).send().status, 426, "{path}");
    }
    drop(server);
    let server = Server::local(&home);
    for path in ["/api/ws", "/api/pub?channel=a", "/api/events?channel=a"] {
        let asked = server.with_token("GET", path).upgrade().send();
        assert_eq!(asked.expect(403)["code"], 4403, "{path}");
    }
}
