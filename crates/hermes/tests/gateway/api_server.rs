//! The API server as a service of the gateway: its place in the state file, in `status` and `doctor`.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::Value;

use crate::post::{Post, end, ready, until};

/// A port that nothing listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn with_settings(lines: &[String]) -> Post {
    let post = Post::new();
    post.home.put(".env", format!("{}\n", lines.join("\n")));
    post
}

fn rows(post: &Post, args: &[&str]) -> Vec<(String, String)> {
    let output = post.home.run(args);
    let value = output.json();
    let rows = value
        .get("rows")
        .or_else(|| value.get("deep_checks"))
        .unwrap_or(&value);
    let rows = rows.as_array().unwrap().iter();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    rows.filter(|row| text(row, "id") == "api_server")
        .map(|row| (text(row, "status"), text(row, "text")))
        .collect()
}

fn api_server(post: &Post) -> Value {
    post.home.run(["status", "--json"]).json()["api_server"].clone()
}

// gateway 1
#[test]
fn without_a_usable_key_the_gateway_runs_and_says_why_no_server_does() {
    for (key, reason) in [
        (None, "needs a key"),
        (Some("12345"), "has 5 characters"),
        (Some("changeme"), "placeholder"),
    ] {
        let port = free_port();
        let mut lines = vec![
            "API_SERVER_ENABLED=true".to_owned(),
            format!("API_SERVER_PORT={port}"),
        ];
        lines.extend(key.map(|key| format!("API_SERVER_KEY={key}")));
        let post = with_settings(&lines);
        let mut gateway = post.gateway(&[]);
        post.until_state("the refusal", |state| {
            state["platforms"]["api_server"]["state"] == "fatal"
        });
        let row = post.state()["platforms"]["api_server"].clone();
        assert!(
            row["error_message"].as_str().unwrap().contains(reason),
            "{row}"
        );
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
        assert_eq!(api_server(&post)["state"], "refused");
        let found = rows(&post, &["doctor", "--json"]);
        assert!(
            found.iter().any(|(_, text)| text.contains(reason)),
            "{found:?}"
        );
        assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    }
}

#[test]
fn a_server_is_shown_with_its_address_and_asked_if_it_answers() {
    let port = free_port();
    let post = with_settings(&[
        format!("API_SERVER_PORT={port}"),
        format!("API_SERVER_KEY={}", "k7".repeat(16)),
    ]);
    let url = format!("http://127.0.0.1:{port}");
    assert_eq!(api_server(&post)["state"], "no_gateway");
    post.home
        .run(["status"])
        .succeeds()
        .prints_part("no gateway is")
        .prints_part("✗ none: no job runs by itself");
    let mut gateway = post.gateway(&[]);
    post.until_state("the server", |state| {
        state["platforms"]["api_server"]["state"] == "connected"
    });
    let shown = api_server(&post);
    assert_eq!(
        (&shown["state"], &shown["url"]),
        (&"serving".into(), &url.clone().into())
    );
    post.home
        .run(["status"])
        .succeeds()
        .prints_part(&format!("✓ {url}"))
        .prints_part("✓ the gateway (PID");
    let deep = rows(&post, &["status", "--deep", "--json"]);
    assert_eq!(deep.len(), 1);
    assert_eq!(deep[0].1, format!("{url} answers"));
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    assert_eq!(post.state()["platforms"], serde_json::json!({}));
}

// gateway 2
#[test]
fn the_model_of_a_named_profile_has_its_name() {
    let post = Post::new();
    post.home.run(["profile", "create", "coder"]).succeeds();
    let (port, key) = (free_port(), "k7".repeat(16));
    post.home.put(
        "profiles/coder/.env",
        format!("API_SERVER_PORT={port}\nAPI_SERVER_KEY={key}\n"),
    );
    let call = post.home.hermes(["-p", "coder", "gateway", "run"]);
    let mut gateway = ready(call.start());
    let ask = |head: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let request = format!("GET /v1/models HTTP/1.0\r\nHost: localhost\r\n{head}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    };
    let refused = ask("");
    assert!(refused.contains(" 401 "), "{refused}");
    assert!(refused.contains("invalid_api_key"), "{refused}");
    let listed = ask(&format!("Authorization: Bearer {key}\r\n"));
    assert!(listed.contains(" 200 "), "{listed}");
    assert!(listed.contains(r#""id":"coder""#), "{listed}");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}

#[test]
fn a_port_that_is_taken_is_named_before_and_after_the_start() {
    let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = other.local_addr().unwrap().port();
    let post = with_settings(&[
        format!("API_SERVER_PORT={port}"),
        format!("API_SERVER_KEY={}", "k7".repeat(16)),
    ]);
    let found = rows(&post, &["doctor", "--json"]);
    let taken = |text: &str| text.contains("in use");
    assert!(found.iter().any(|(_, text)| taken(text)), "{found:?}");
    let mut gateway = post.gateway(&[]);
    post.until_state("the failure", |state| {
        state["platforms"]["api_server"]["state"] == "fatal"
    });
    assert_eq!(api_server(&post)["state"], "failed");
    let found = rows(&post, &["doctor", "--json"]);
    let text = &found.first().unwrap().1;
    assert!(text.contains("the gateway runs without it"), "{text}");
    // The rest of the gateway works.
    until("the dispatcher", || {
        (post.state()["services"]["dispatcher"]["state"] == "running").then_some(())
    });
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}
