//! Full-text search over what was said and done.

use hermes_session::{
    ConversationStep, MessageContent, MessageRole, SearchOrder, SearchRequest, SessionMessage,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::test_store::TestStore;

fn find(test: &TestStore, query: &str) -> Vec<String> {
    find_with(test, &request(query))
}

fn request(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.to_owned(),
        roles: vec!["user".to_owned(), "tool".to_owned(), "assistant".to_owned()],
        ..SearchRequest::default()
    }
}

fn find_with(test: &TestStore, request: &SearchRequest) -> Vec<String> {
    let hits = test.store.search(request).unwrap();
    hits.into_iter().map(|hit| hit.snippet).collect()
}

#[test]
fn search_understands_words_phrases_and_operators() {
    let mut test = TestStore::new();
    test.conversation(&[
        "deploy the docker container",
        "the container of podman",
        "my-app.config.ts is broken",
    ]);
    let said = |query: &str| {
        let roles = vec!["user".to_owned()];
        find_with(
            &test,
            &SearchRequest {
                roles,
                ..request(query)
            },
        )
        .len()
    };
    for (query, count) in [
        ("container", 2),
        ("docker container", 1),
        ("\"docker container\"", 1),
        ("\"container docker\"", 0),
        ("docker OR podman", 2),
        ("container NOT docker", 1),
        ("conta*", 2),
        ("my-app.config.ts", 1),
        ("app.my", 0),
        ("TODO: nothing", 0),
        ("AND", 0),
        ("\"", 0),
    ] {
        assert_eq!(said(query), count, "{query}");
    }
    let hit = &test.store.search(&request("podman")).unwrap()[0];
    assert!(hit.snippet.contains(">>>podman<<<"), "{}", hit.snippet);
    let around: Vec<&str> = hit.context.iter().map(|n| n.content.as_str()).collect();
    assert_eq!(around.len(), 3);
    assert!(around.contains(&"the container of podman"));
}

#[test]
fn no_search_text_is_an_error() {
    let mut test = TestStore::new();
    test.conversation(&["hello"]);
    for query in [
        "\"",
        "\"\"\"",
        "(",
        ")(",
        "a:b:c",
        "-",
        "*",
        "a*b*",
        "NOT",
        "NOT NOT x",
        "x AND",
        "NEAR(a, 5)",
        "{a b}",
        "^",
        "'; DROP TABLE messages; --",
        "\0",
        "\\",
        "%_",
        "a\u{200b}b",
        "content:hello",
        "hello\\",
        "中",
        "中*",
    ] {
        find(&test, query);
    }
    find(&test, &"word ".repeat(10_000));
    assert_eq!(find(&test, "hello").len(), 2);
}

#[test]
fn search_finds_scripts_without_spaces() {
    let mut test = TestStore::new();
    test.conversation(&["我们讨论大别山项目的计划", "桂林很美"]);
    assert_eq!(find(&test, "大别山项目").len(), 2);
    assert_eq!(find(&test, "山项大").len(), 0);
    assert_eq!(find(&test, "桂林").len(), 2);
    assert_eq!(find(&test, "广西 OR 桂林").len(), 2);
    assert!(find(&test, "桂林")[0].contains("桂林"));
}

#[test]
fn search_covers_tool_calls_and_parts() {
    let mut test = TestStore::new();
    let id = test.conversation(&["x"]);
    let calls = json!([{"id": "a", "type": "function",
        "function": {"name": "terminal", "arguments": "{\"command\": \"make frobnicate\"}"}}]);
    let parts = json!([{"type": "text", "text": "a picture of zebras"}]);
    test.store
        .append_step(
            &id,
            &ConversationStep {
                assistant: SessionMessage {
                    tool_calls: Some(calls),
                    ..SessionMessage::new(MessageRole::Assistant)
                },
                results: vec![SessionMessage::tool_result(
                    "a",
                    "terminal",
                    MessageContent::Parts(parts),
                )],
                usage: None,
            },
        )
        .unwrap();
    assert_eq!(find(&test, "frobnicate").len(), 1);
    assert_eq!(find(&test, "zebras").len(), 1);
}

#[test]
fn search_filters_orders_and_pages() {
    let mut test = TestStore::new();
    test.conversation_from("tool", &["needle in a tool"]);
    test.conversation_from("cli", &["needle one", "needle needle two"]);
    let all = request("needle");
    assert_eq!(find_with(&test, &all).len(), 6);
    let excluded_sources = vec!["tool".to_owned()];
    let roles = vec!["user".to_owned()];
    let cli = SearchRequest {
        excluded_sources,
        roles,
        ..all
    };
    let newest = SearchRequest {
        order: SearchOrder::Newest,
        ..cli.clone()
    };
    assert_eq!(
        find_with(&test, &newest),
        [">>>needle<<< >>>needle<<< two  ", ">>>needle<<< one  "]
    );
    let oldest = SearchRequest {
        order: SearchOrder::Oldest,
        limit: Some(1),
        offset: 1,
        ..cli.clone()
    };
    assert_eq!(
        find_with(&test, &oldest),
        [">>>needle<<< >>>needle<<< two  "]
    );
    let sources = vec!["acp".to_owned()];
    assert_eq!(
        find_with(&test, &SearchRequest { sources, ..cli }),
        Vec::<String>::new()
    );
}

#[test]
fn typed_messages_are_those_of_people_newest_first_and_each_once() {
    let mut test = TestStore::new();
    test.conversation(&["fix the Parser", "run it"]);
    test.conversation(&["write docs for the parser", "run it"]);
    test.conversation_from("tool", &["parser for a tool"]);
    test.conversation_from("cron", &["parser every day"]);
    let typed = |words: &[&str], most| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = test.store.typed_messages(&words, most).unwrap();
        found.into_iter().map(|one| one.text).collect::<Vec<_>>()
    };
    assert_eq!(
        typed(&[], 9),
        ["run it", "write docs for the parser", "fix the Parser"]
    );
    assert_eq!(typed(&["parser"], 1), ["write docs for the parser"]);
    assert_eq!(typed(&["parser", "fix"], 9), ["fix the Parser"]);
    assert_eq!(typed(&["100%"], 9), Vec::<String>::new());
    assert_eq!(typed(&["answer"], 9), Vec::<String>::new());
}
