//! `aimock`: text, calls, refusals, keys and broken streams in each of the three formats.

use hermes_testkit::TestHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::mock_server::{MockServer, Wire, ask_by, empty_home, session_of};

/// Makes a test of each function for each format.
macro_rules! on_each_wire {
    ($($name:ident),+ $(,)?) => {
        mod by_chat_completions {
            $(#[test] fn $name() { super::$name(super::Wire::Chat); })+
        }
        mod by_responses {
            $(#[test] fn $name() { super::$name(super::Wire::Responses); })+
        }
        mod by_messages {
            $(#[test] fn $name() { super::$name(super::Wire::Anthropic); })+
        }
    };
}

on_each_wire!(
    a_text_arrives_whole,
    calls_are_made_and_answered_and_the_session_goes_on,
    a_call_before_the_text_is_made,
    a_limit_is_waited_for,
    a_key_is_shown_the_way_the_server_expects,
    a_broken_server_is_told_in_one_line,
);

fn base_url(server: &MockServer, wire: Wire) -> String {
    match wire {
        Wire::Anthropic => server.root().to_owned(),
        Wire::Chat | Wire::Responses => format!("{}/v1", server.root()),
    }
}

/// A home whose model is the server.
fn met(answers: &Value, wire: Wire) -> (TestHome, MockServer) {
    let home = empty_home();
    let answers = json!({"fixtures": answers});
    let server = MockServer::aimock(&home, &answers, &["--strict", "--validate-on-load"]);
    ask_by(&home, &base_url(&server, wire), wire, "", "");
    (home, server)
}

fn a_text_arrives_whole(wire: Wire) {
    let text = "Ein Text — länger als ein Stück, mit \"Zeichen\" und 灯塔 in mehreren Stücken.";
    let answers = json!([{"match": {"userMessage": "hello"},
        "response": {"reasoning": "I think, quietly.", "content": text}}]);
    let (home, server) = met(&answers, wire);
    let outcome = home.run(["chat", "-Q", "-q", "hello"]);
    outcome.succeeds().prints(&format!("{text}\n"));
    let asked = server.journal(wire.path());
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["body"]["stream"], true);
    // The thought is kept, and not part of the answer.
    let session = session_of(&outcome);
    let stored = home.run(["sessions", "export", "-", "--session-id", &session]);
    stored.succeeds().prints_part("I think, quietly.");
}

fn calls_are_made_and_answered_and_the_session_goes_on(wire: Wire) {
    let answers = json!([
        {"match": {"userMessage": "count", "hasToolResult": false},
         "response": {"content": "Let me look.", "toolCalls": [
            {"name": "terminal", "arguments": {"command": "echo server-$((6*7)) | tee made.txt"}},
            {"name": "read_file", "arguments": {"path": "there.txt"}}]}},
        {"match": {"userMessage": "count", "toolResultContains": "already here"},
         "response": {"content": "It is forty-two."}},
        {"match": {"userMessage": "and now", "turnIndex": 2},
         "response": {"content": "Still forty-two."}},
    ]);
    let (home, server) = met(&answers, wire);
    std::fs::write(home.user_home().join("there.txt"), "already here\n").unwrap();
    let outcome = home.run(["chat", "-Q", "-q", "count, please"]);
    outcome.succeeds().prints("It is forty-two.\n");
    let made = std::fs::read_to_string(home.user_home().join("made.txt")).unwrap();
    assert_eq!(made, "server-42\n");
    let asked = server.journal(wire.path());
    assert_eq!(asked.len(), 2);
    let second = asked[1]["body"].to_string();
    assert!(second.contains("server-42"), "{second}");
    let session = session_of(&outcome);
    let next = home.run(["chat", "-Q", "-q", "and now?", "-r", &session]);
    next.succeeds().prints("Still forty-two.\n");
    let asked = server.journal(wire.path());
    let third = asked[2]["body"].to_string();
    assert!(
        third.contains("server-42") && third.contains("already here"),
        "{third}"
    );
    assert_eq!(asked[2]["body"]["tools"], asked[0]["body"]["tools"]);
}

fn a_call_before_the_text_is_made(wire: Wire) {
    let answers = json!([
        {"match": {"userMessage": "go", "hasToolResult": false},
         "response": {"blocks": [
            {"type": "toolCall", "name": "terminal", "arguments": {"command": "touch first"}},
            {"type": "text", "text": "On it."},
            {"type": "toolCall", "name": "terminal", "arguments": {"command": "touch second"}}]}},
        {"match": {"userMessage": "go", "hasToolResult": true}, "response": {"content": "Done."}},
    ]);
    let (home, _stranger) = met(&answers, wire);
    home.run(["chat", "-Q", "-q", "go"])
        .succeeds()
        .prints("Done.\n");
    for name in ["first", "second"] {
        assert!(home.user_home().join(name).exists(), "{name}");
    }
}

fn a_limit_is_waited_for(wire: Wire) {
    let answers = json!([
        {"match": {"userMessage": "hello", "sequenceIndex": 0},
         "response": {"error": {"message": "Slow down", "type": "rate_limit_error"}, "status": 429}},
        {"match": {"userMessage": "hello"}, "response": {"content": "Now."}},
    ]);
    let (home, server) = met(&answers, wire);
    home.run(["chat", "-Q", "-q", "hello"])
        .succeeds()
        .prints("Now.\n");
    assert_eq!(server.journal(wire.path()).len(), 2);
}

fn a_key_is_shown_the_way_the_server_expects(wire: Wire) {
    let home = empty_home();
    let answers = json!({"fixtures": [
        {"match": {"userMessage": "hello"}, "response": {"content": "Welcome."}}]});
    let server = MockServer::aimock_for(&home, &answers, "the-key-of-the-server");
    let base_url = base_url(&server, wire);
    ask_by(
        &home,
        &base_url,
        wire,
        "  api_key: the-key-of-the-server\n",
        "",
    );
    home.run(["chat", "-Q", "-q", "hello"])
        .succeeds()
        .prints("Welcome.\n");
    ask_by(
        &home,
        &base_url,
        wire,
        "  api_key: another-key-altogether\n",
        "",
    );
    let outcome = home.run(["chat", "-Q", "-q", "hello"]);
    outcome.exits(1).prints("").says_part("401");
    outcome.never_shows("another-key-altogether");
}

fn a_broken_server_is_told_in_one_line(wire: Wire) {
    // At the same time: a connection that breaks is made anew after some seconds.
    std::thread::scope(|scope| {
        for flag in ["--chaos-disconnect", "--chaos-malformed", "--chaos-drop"] {
            scope.spawn(move || is_told_in_one_line(flag, wire));
        }
    });
}

fn is_told_in_one_line(flag: &str, wire: Wire) {
    let home = empty_home();
    let answers = json!({"fixtures": [
        {"match": {"userMessage": "hello"}, "response": {"content": "Never whole."}}]});
    let server = MockServer::aimock(&home, &answers, &[flag, "1"]);
    let once = "agent:\n  api_max_retries: 1\n";
    ask_by(&home, &base_url(&server, wire), wire, "", once);
    let outcome = home.run(["chat", "-Q", "-q", "hello"]);
    outcome.exits(1).prints("");
    let errors = outcome
        .stderr
        .lines()
        .filter(|line| line.starts_with("Error: "));
    assert_eq!(errors.count(), 1, "{flag}: {outcome}");
    session_of(&outcome);
}
