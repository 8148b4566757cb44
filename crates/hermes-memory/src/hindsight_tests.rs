//! What is sent to Hindsight, and what is made of its answers.

use hermes_testkit::JsonServer;
use pretty_assertions::assert_eq;

use super::*;
use crate::test_home::TestHome;

fn server() -> JsonServer {
    JsonServer::start(|asked| match asked.line.rsplit('/').next() {
        Some("recall") => (
            200,
            json!({"results": [{"id": "1", "text": "likes tea"}, {"id": "2", "text": "is Ann"}]})
                .to_string(),
        ),
        Some("reflect") => (200, json!({"text": "She likes tea."}).to_string()),
        _ => (200, json!({"success": true}).to_string()),
    })
}

#[test]
fn banks_are_recalled_from_and_retained_in() {
    let server = server();
    let home = TestHome::new(&[
        ("HINDSIGHT_API_KEY", "hs-key"),
        ("HINDSIGHT_API_URL", &server.base),
        ("HINDSIGHT_RETAIN_TAGS", "a, b"),
    ]);
    home.put(
        "hindsight/config.json",
        r#"{"mode": "cloud", "banks": {"hermes": {"bankId": "my bank", "budget": "low"}}}"#,
    );
    let service = home.open("hindsight").unwrap();
    let stop = Wake::new().unwrap();
    assert_eq!(
        service.recall("tea?", "s1", &stop).unwrap(),
        ["likes tea", "is Ann"]
    );
    let turn = CompletedTurn {
        session: "s1".to_owned(),
        user: "I like tea".to_owned(),
        assistant: "Noted.".to_owned(),
        conversation: Vec::new(),
    };
    service.keep(&turn, &stop).unwrap();
    service.keep(&turn, &stop).unwrap();
    let asked = server.asked();
    assert_eq!(
        asked[0].line,
        "POST /v1/default/banks/my%20bank/memories/recall"
    );
    assert_eq!(asked[0].header("authorization"), Some("Bearer hs-key"));
    assert_eq!(
        asked[0].body,
        json!({"query": "tea?", "budget": "low", "max_tokens": 4096})
    );
    assert_eq!(asked[1].line, "POST /v1/default/banks/my%20bank/memories");
    let item = &asked[1].body["items"][0];
    assert_eq!(item["content"], "User: I like tea\n\nAssistant: Noted.");
    assert_eq!(item["tags"], json!(["a", "b", "session:s1"]));
    assert_eq!(asked[1].body["async"], true);
}

#[test]
fn tools_answer_and_local_servers_need_no_key() {
    let server = server();
    let home = TestHome::new(&[
        ("HINDSIGHT_MODE", "local_external"),
        ("HINDSIGHT_API_URL", &server.base),
    ]);
    let service = home.open("hindsight").unwrap();
    let stop = Wake::new().unwrap();
    let call = |tool: &str, args: Value| service.call(tool, &args, &stop).unwrap();
    let found = call("hindsight_recall", json!({"query": "x"}));
    assert_eq!(found["result"], "1. likes tea\n2. is Ann");
    let answer = call("hindsight_reflect", json!({"query": "x"}));
    assert_eq!(answer["result"], "She likes tea.");
    call(
        "hindsight_retain",
        json!({"content": "fact", "tags": ["t"]}),
    );
    let asked = server.asked();
    assert_eq!(asked[0].header("authorization"), None);
    assert_eq!(asked[1].line, "POST /v1/default/banks/hermes/reflect");
    assert_eq!(
        asked[2].body["items"][0],
        json!({"content": "fact", "tags": ["t"]})
    );
}

#[test]
fn modes_that_need_python_are_refused_with_the_reason() {
    let reason = |mode: &str| {
        let home = TestHome::new(&[("HINDSIGHT_MODE", mode)]);
        home.open("hindsight").err().unwrap().reason
    };
    assert!(reason("local_embedded").contains("Python runtime only"));
    assert!(reason("nosuch").contains("neither cloud nor local_external"));
    assert_eq!(reason("cloud"), "HINDSIGHT_API_KEY is not set");
}
