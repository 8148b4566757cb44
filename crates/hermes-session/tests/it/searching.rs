//! Full-text search over what was said and done.

use hermes_session::{Content, Message, SearchOrder, SearchRequest, Step};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::World;

fn find(world: &World, query: &str) -> Vec<String> {
    find_with(world, &request(query))
}

fn request(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.to_owned(),
        roles: vec!["user".to_owned(), "tool".to_owned(), "assistant".to_owned()],
        ..SearchRequest::default()
    }
}

fn find_with(world: &World, request: &SearchRequest) -> Vec<String> {
    let hits = world.store.search(request).unwrap();
    hits.into_iter().map(|hit| hit.snippet).collect()
}

#[test]
fn words_phrases_and_operators() {
    let mut world = World::new();
    world.talk(&[
        "deploy the docker container",
        "the container of podman",
        "my-app.config.ts is broken",
    ]);
    let said = |query: &str| {
        let roles = vec!["user".to_owned()];
        find_with(
            &world,
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
    let hit = &world.store.search(&request("podman")).unwrap()[0];
    assert!(hit.snippet.contains(">>>podman<<<"), "{}", hit.snippet);
    let around: Vec<&str> = hit.context.iter().map(|n| n.content.as_str()).collect();
    assert_eq!(around.len(), 3);
    assert!(around.contains(&"the container of podman"));
}

#[test]
fn nothing_that_is_typed_is_an_error() {
    let mut world = World::new();
    world.talk(&["hello"]);
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
        find(&world, query);
    }
    find(&world, &"word ".repeat(10_000));
    assert_eq!(find(&world, "hello").len(), 2);
}

#[test]
fn scripts_without_spaces_are_found() {
    let mut world = World::new();
    world.talk(&["我们讨论大别山项目的计划", "桂林很美"]);
    assert_eq!(find(&world, "大别山项目").len(), 2);
    assert_eq!(find(&world, "山项大").len(), 0);
    assert_eq!(find(&world, "桂林").len(), 2);
    assert_eq!(find(&world, "广西 OR 桂林").len(), 2);
    assert!(find(&world, "桂林")[0].contains("桂林"));
}

#[test]
fn tools_calls_and_parts_are_searched() {
    let mut world = World::new();
    let id = world.talk(&["x"]);
    let calls = json!([{"id": "a", "type": "function",
        "function": {"name": "terminal", "arguments": "{\"command\": \"make frobnicate\"}"}}]);
    let parts = json!([{"type": "text", "text": "a picture of zebras"}]);
    world
        .store
        .append_step(
            &id,
            &Step {
                assistant: Message::calls(None, calls),
                results: vec![Message::tool_result("a", "terminal", Content::Parts(parts))],
                usage: None,
            },
        )
        .unwrap();
    assert_eq!(find(&world, "frobnicate").len(), 1);
    assert_eq!(find(&world, "zebras").len(), 1);
}

#[test]
fn filters_order_and_pages() {
    let mut world = World::new();
    world.talk_from("tool", &["needle in a tool"]);
    world.talk_from("cli", &["needle one", "needle needle two"]);
    let all = request("needle");
    assert_eq!(find_with(&world, &all).len(), 6);
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
        find_with(&world, &newest),
        [">>>needle<<< >>>needle<<< two  ", ">>>needle<<< one  "]
    );
    let oldest = SearchRequest {
        order: SearchOrder::Oldest,
        limit: 1,
        offset: 1,
        ..cli.clone()
    };
    assert_eq!(
        find_with(&world, &oldest),
        [">>>needle<<< >>>needle<<< two  "]
    );
    let sources = vec!["acp".to_owned()];
    assert_eq!(
        find_with(&world, &SearchRequest { sources, ..cli }),
        Vec::<String>::new()
    );
}
