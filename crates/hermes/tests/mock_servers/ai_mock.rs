//! `ai-mock`: streams without a content type, without a reason to end and without indexes of calls,
//! one character an event.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::mock_server::{MockServer, Wire, ask_by, empty_home};

#[test]
fn chat_completions_are_understood_and_calls_made() {
    let home = empty_home();
    let answers = json!({"responses": [
        {"type": "text", "input": "hello", "output": "Grüß dich!"},
        {"type": "function", "input": "count, please",
         "output": {"name": "terminal", "arguments": {"command": "echo $((6*7)) > made.txt"}}},
    ]});
    let server = MockServer::ai_mock(&home, &answers);
    let base_url = format!("{}/openai", server.root());
    ask_by(&home, &base_url, Wire::Chat, "", "");
    home.run(["chat", "-Q", "-q", "hello"])
        .succeeds()
        .prints("Grüß dich!\n");
    // To anything it was not told about, it answers with the last thing the person said.
    let outcome = home.run(["chat", "-Q", "-q", "count, please"]);
    outcome.succeeds().prints("count, please\n");
    let made = std::fs::read_to_string(home.user_home().join("made.txt")).unwrap();
    assert_eq!(made, "42\n");
}

#[test]
fn messages_are_understood() {
    let home = empty_home();
    let server = MockServer::ai_mock(&home, &json!({"responses": []}));
    let base_url = format!("{}/anthropic", server.root());
    ask_by(&home, &base_url, Wire::Anthropic, "", "");
    let outcome = home.run(["chat", "-Q", "-q", "an echo, please"]);
    outcome.succeeds().prints("an echo, please\n");
}
