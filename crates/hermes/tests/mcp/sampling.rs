//! Servers that ask the model.

use hermes_store::rusqlite::Connection;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::Desk;

const QUESTION: &str =
    "{messages: [{role: user, content: {type: text, text: two and two}}], maxTokens: 50}";

/// A conversation in which the server asks the model; what the server got, as JSON text.
fn asked(desk: &Desk, times: u32) -> Value {
    let arguments = QUESTION.replacen('{', &format!("{{times: {times}, "), 1);
    let run = desk.chat(&format!(
        "turns:\n  - match: {{task: mcp, last: two and two}}\n    text: four\n  \
         - match: {{step: 1}}\n    calls: [{{tool: mcp__srv__sample, arguments: {arguments}}}]\n  \
         - match: {{tool: mcp__srv__sample}}\n    text: done\n",
    ));
    run.succeeds().prints_part("done");
    let result = desk.results(&run).remove(0);
    let (_, rest) = result.split_once("{\"result\"").unwrap();
    let json = format!("{{\"result\"{rest}");
    let mut values = serde_json::Deserializer::from_str(&json).into_iter::<Value>();
    let result = values.next().unwrap().unwrap();
    serde_json::from_str(result["result"].as_str().unwrap()).unwrap()
}

#[test]
fn a_server_may_not_ask_the_model_unless_its_settings_say_so() {
    for more in ["", "    sampling: {model: m}\n"] {
        let desk = Desk::new(&["sampling"], more);
        let capabilities = desk.call("capabilities", json!({}));
        assert_eq!(capabilities, json!({"result": "{}"}));
        let answers = asked(&desk, 1);
        assert_eq!(answers[0]["code"], -32601, "{answers}");
    }
}

#[test]
fn a_server_that_may_ask_gets_an_answer_on_the_account_of_the_session() {
    let desk = Desk::new(&["sampling"], "    sampling: {enabled: true, max_rpm: 2}\n");
    let capabilities = desk.call("capabilities", json!({}));
    assert_eq!(
        capabilities,
        json!({"result": "{\"sampling\": {\"tools\": {}}}"})
    );
    let answers = asked(&desk, 3);
    for answer in [&answers[0], &answers[1]] {
        assert_eq!(answer["content"], json!({"type": "text", "text": "four"}));
        assert_eq!(answer["stopReason"], "endTurn");
    }
    let refused = answers[2]["message"].as_str().unwrap();
    assert!(refused.contains("at most 2 a minute"), "{refused}");
    let store = Connection::open(desk.home.path("state.db")).unwrap();
    let count: i64 = store
        .query_row(
            "SELECT sum(api_call_count) FROM session_model_usage WHERE task = 'mcp'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(count, 2);
}

#[test]
fn settings_of_sampling_that_make_no_sense_are_named() {
    let desk = Desk::new(
        &["sampling"],
        "    sampling: {enabled: true, max_rpm: many}\n",
    );
    let listed = desk.home.run(["mcp", "list"]);
    listed
        .succeeds()
        .says_part("mcp_servers.srv.sampling.max_rpm: expected a whole number, at least 1");
}
