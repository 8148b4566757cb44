//! What is sent to Supermemory, and what is made of its answers.

use hermes_testkit::JsonServer;
use pretty_assertions::assert_eq;

use super::*;
use crate::backend::Said;
use crate::test_home::TestHome;

fn server() -> JsonServer {
    JsonServer::start(|asked| match asked.line.as_str() {
        "POST /v4/profile" => (
            200,
            json!({
                "profile": {"static": ["is called Ann"], "dynamic": ["moves house"]},
                "searchResults": {
                    "results": [{"memory": "likes tea"}, {"chunk": "of a document"}, 7],
                    "timing": 1.0,
                    "total": 2,
                },
            })
            .to_string(),
        ),
        "POST /v4/search" => (
            200,
            json!({"results": [{"id": "m1", "memory": "likes tea", "similarity": 0.8}]})
                .to_string(),
        ),
        _ => (200, json!({"id": "d1"}).to_string()),
    })
}

#[test]
fn profile_and_search_are_recalled_and_conversations_kept() {
    let server = server();
    let home = TestHome::new(&[
        ("SUPERMEMORY_API_KEY", "sm-key"),
        ("SUPERMEMORY_BASE_URL", &server.base),
    ]);
    home.put(
        "supermemory.json",
        r#"{"container_tag": "of {identity}!", "max_recall_results": 1}"#,
    );
    let service = home.open("supermemory").unwrap();
    let stop = Wake::new().unwrap();
    let facts = service.recall("tea?", "s1", &stop).unwrap();
    assert_eq!(facts, ["is called Ann", "moves house", "likes tea"]);
    assert!(service.wants_conversation());
    let said = |role, text: &str| Said {
        role,
        text: text.to_owned(),
    };
    let turn = CompletedTurn {
        session: "s1".to_owned(),
        user: "hi".to_owned(),
        assistant: "ho".to_owned(),
        conversation: vec![
            said("user", "hi"),
            said("assistant", ""),
            said("assistant", "ho"),
        ],
    };
    service.keep(&turn, &stop).unwrap();
    let asked = server.asked();
    assert_eq!(
        asked[0].body,
        json!({"containerTag": "of_work", "q": "tea?"})
    );
    assert_eq!(asked[0].header("authorization"), Some("Bearer sm-key"));
    assert_eq!(asked[0].header("x-sm-source"), Some("hermes"));
    assert_eq!(asked[1].line, "POST /v4/conversations");
    assert_eq!(asked[1].body["conversationId"], "s1");
    assert_eq!(asked[1].body["messages"].as_array().unwrap().len(), 2);
    assert_eq!(asked[1].body["containerTags"], json!(["of_work"]));
}

#[test]
fn tools_store_search_and_forget() {
    let server = server();
    let home = TestHome::new(&[
        ("SUPERMEMORY_API_KEY", "sm-key"),
        ("SUPERMEMORY_BASE_URL", &server.base),
    ]);
    let service = home.open("supermemory").unwrap();
    let stop = Wake::new().unwrap();
    let call = |tool: &str, args: Value| service.call(tool, &args, &stop);
    let stored = call(
        "supermemory_store",
        json!({"content": "x", "metadata": {"a": 1}}),
    )
    .unwrap();
    assert_eq!(stored["id"], "d1");
    let found = call("supermemory_search", json!({"query": "x", "limit": 99})).unwrap();
    assert_eq!(found["results"][0]["content"], "likes tea");
    let gone = call("supermemory_forget", json!({"query": "tea"})).unwrap();
    assert_eq!(gone["id"], "m1");
    assert!(
        call("supermemory_forget", json!({}))
            .unwrap_err()
            .is_of_request
    );
    let profile = call("supermemory_profile", json!({})).unwrap();
    assert_eq!(profile["static"], json!(["is called Ann"]));
    let lines: Vec<String> = server.asked().into_iter().map(|asked| asked.line).collect();
    let expected = [
        "POST /v3/documents",
        "POST /v4/search",
        "POST /v4/search",
        "DELETE /v4/memories",
        "POST /v4/profile",
    ];
    assert_eq!(lines, expected);
    let asked = server.asked();
    assert_eq!(
        asked[0].body["metadata"],
        json!({"a": 1, "sm_source": "hermes"})
    );
    assert_eq!(asked[1].body["limit"], 20);
    assert_eq!(asked[1].body["searchMode"], "hybrid");
    assert_eq!(asked[3].body, json!({"containerTag": "hermes", "id": "m1"}));
}

#[test]
fn switches_of_the_file_count() {
    let server = server();
    let home = TestHome::new(&[("SUPERMEMORY_API_KEY", "k")]);
    let file = json!({"auto_recall": false, "auto_capture": "no", "base_url": server.base});
    home.put("supermemory.json", &file.to_string());
    let service = home.open("supermemory").unwrap();
    let stop = Wake::new().unwrap();
    assert_eq!(
        service.recall("x", "s", &stop).unwrap(),
        Vec::<String>::new()
    );
    let turn = CompletedTurn {
        session: "s".to_owned(),
        user: "a".to_owned(),
        assistant: "b".to_owned(),
        conversation: Vec::new(),
    };
    service.keep(&turn, &stop).unwrap();
    assert_eq!(server.asked().len(), 0);
}
