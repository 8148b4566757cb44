//! What is sent to Mem0, hosted and self-hosted, and what is made of its answers.

use hermes_testkit::JsonServer;
use pretty_assertions::assert_eq;

use super::*;
use crate::test_home::TestHome;

fn turn() -> CompletedTurn {
    CompletedTurn {
        session: "s1".to_owned(),
        user: "I like tea".to_owned(),
        assistant: "Noted.".to_owned(),
        conversation: Vec::new(),
    }
}

fn hosted_at(base: &str) -> Mem0 {
    let headers = [("authorization", "Token m0-key")];
    Mem0 {
        api: Api::new(base, &headers, LIMIT, HttpSettings::default()).unwrap(),
        is_own: false,
        user: "joe".to_owned(),
        agent: "hermes".to_owned(),
        rerank: true,
        channel: "cli".to_owned(),
    }
}

#[test]
fn hosted_service_is_asked_as_its_client_library_asks() {
    let server = JsonServer::start(|asked| match asked.line.as_str() {
        "POST /v3/memories/search/" => (
            200,
            json!({"results": [{"id": "a", "memory": "likes tea", "score": 0.9}]}).to_string(),
        ),
        "POST /v3/memories/add/" => (200, json!({"event_id": "e1"}).to_string()),
        "PUT /v1/memories/a/" => (200, "{}".to_owned()),
        _ => (204, String::new()),
    });
    let mem0 = hosted_at(&server.base);
    let stop = Wake::new().unwrap();
    assert_eq!(mem0.recall("tea?", "s1", &stop).unwrap(), ["likes tea"]);
    mem0.keep(&turn(), &stop).unwrap();
    let found = mem0.call("mem0_search", &json!({"query": "x", "top_k": 500}), &stop);
    assert_eq!(found.unwrap()["results"][0]["id"], "a");
    let added = mem0
        .call("mem0_add", &json!({"content": "fact"}), &stop)
        .unwrap();
    assert_eq!(added["event_id"], "e1");
    let update = json!({"memory_id": "a", "text": "new"});
    mem0.call("mem0_update", &update, &stop).unwrap();
    mem0.call("mem0_delete", &json!({"memory_id": "a/../b"}), &stop)
        .unwrap();
    let asked = server.asked();
    assert!(
        asked
            .iter()
            .all(|one| one.header("authorization") == Some("Token m0-key"))
    );
    let search = json!({
        "query": "tea?", "filters": {"user_id": "joe"}, "top_k": 10, "rerank": false,
    });
    assert_eq!(asked[0].body, search);
    assert_eq!(asked[1].body["infer"], true);
    assert_eq!(asked[1].body["messages"][1]["content"], "Noted.");
    assert_eq!(asked[1].body["metadata"], json!({"channel": "cli"}));
    assert_eq!(asked[2].body["top_k"], 50);
    assert_eq!(asked[2].body["rerank"], true);
    assert_eq!(asked[3].body["infer"], false);
    assert_eq!(asked[4].line, "PUT /v1/memories/a/");
    assert_eq!(
        asked[5].line, "DELETE /v1/memories/a%2F..%2Fb/",
        "no way out of the path"
    );
}

#[test]
fn own_server_has_other_paths_and_may_need_no_key() {
    let server = JsonServer::start(|_| (200, json!([{"memory": "m"}]).to_string()));
    let home = TestHome::new(&[("MEM0_HOST", &server.base), ("MEM0_USER_ID", "hermes-user")]);
    home.put("mem0.json", r#"{"user_id": "ann", "agent_id": ""}"#);
    let mem0 = home.open("mem0").unwrap();
    let stop = Wake::new().unwrap();
    assert_eq!(mem0.recall("x", "s", &stop).unwrap(), ["m"]);
    mem0.keep(&turn(), &stop).unwrap();
    let asked = server.asked();
    assert_eq!(asked[0].line, "POST /search");
    assert_eq!(asked[0].body["filters"]["user_id"], "ann");
    assert_eq!(asked[0].body.get("rerank"), None);
    assert_eq!(asked[0].header("x-api-key"), None);
    assert_eq!(asked[1].line, "POST /memories");
    assert_eq!(asked[1].body["agent_id"], "hermes");
}

#[test]
fn what_cannot_be_used_says_why() {
    let problem = |variables: &[(&str, &str)], file: Option<&str>| {
        let home = TestHome::new(variables);
        if let Some(file) = file {
            home.put("mem0.json", file);
        }
        home.open("mem0").err().unwrap().reason
    };
    assert_eq!(problem(&[], None), "MEM0_API_KEY is not set");
    let local = [("MEM0_MODE", "oss")];
    assert!(problem(&local, None).contains("Python runtime only"));
    assert!(problem(&[], Some("[1]")).contains("is not a JSON object"));
    let host = [("MEM0_HOST", "ftp://x")];
    assert!(problem(&host, None).contains("http://"));
    let key = [("MEM0_API_KEY", "a\nb")];
    assert!(problem(&key, None).contains("cannot be sent"));
}

#[test]
fn refusals_are_told_apart_and_hold_no_key() {
    let server = JsonServer::start(|asked| match asked.body["query"].as_str() {
        Some("401") => (401, r#"{"detail": "Invalid token"}"#.to_owned()),
        Some("500") => (500, "<html>".to_owned()),
        Some("text") => (200, "hello".to_owned()),
        _ => (404, "{}".to_owned()),
    });
    let mem0 = hosted_at(&server.base);
    let stop = Wake::new().unwrap();
    let failure = |query: &str| mem0.recall(query, "s", &stop).unwrap_err();
    assert_eq!(
        failure("401").reason,
        "it does not accept the key: Invalid token"
    );
    assert_eq!(failure("500").reason, "it answered with HTTP 500");
    assert_eq!(failure("text").reason, "its answer is not JSON");
    assert!(failure("other").is_of_request);
    let missing = mem0.call("mem0_delete", &json!({}), &stop).unwrap_err();
    assert_eq!(missing.reason, "memory_id is missing");
}
