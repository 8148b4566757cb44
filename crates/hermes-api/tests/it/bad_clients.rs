//! Clients that send too much, too slowly, or half of it: they are answered or let go, and nobody
//! else notices.

use std::io::Read as _;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::client::request;
use crate::world::{KEY, World};

const HELLO: &str = "turns: [{text: hi}]";
const PATH: &str = "/v1/chat/completions";

#[test]
fn bodies_of_a_hundred_megabytes_are_refused_unread() {
    let world = World::playing(HELLO);
    let mut connection = world.connect();
    let bearer = format!("Bearer {KEY}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Length", "100000000"),
    ];
    connection.write(&request("POST", PATH, &headers, b""));
    let reply = connection.read();
    assert_eq!(reply.status, 413);
    assert_eq!(reply.json()["error"]["code"], "body_too_large");
    assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(world.get("/health").status, 200);
}

#[test]
fn chunked_bodies_are_measured_as_they_come() {
    let world = World::playing(HELLO);
    let bearer = format!("Bearer {KEY}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Transfer-Encoding", "chunked"),
    ];
    let chunks = |size: usize, count: usize| {
        let mut connection = world.connect();
        let mut bytes = request("POST", PATH, &headers, b"");
        let chunk = vec![b' '; size];
        connection.write(&std::mem::take(&mut bytes));
        for _ in 0..count {
            let mut framed = format!("{size:x}\r\n").into_bytes();
            framed.extend_from_slice(&chunk);
            framed.extend_from_slice(b"\r\n");
            // The server may have answered and gone already.
            if std::io::Write::write_all(&mut connection.stream, &framed).is_err() {
                break;
            }
        }
        drop(std::io::Write::write_all(
            &mut connection.stream,
            b"0\r\n\r\n",
        ));
        connection.read()
    };
    let reply = chunks(100_000, 101);
    assert_eq!(reply.status, 413, "{}", reply.text());
    // As large as allowed, and no JSON.
    assert_eq!(chunks(100_000, 100).status, 400);
}

#[test]
fn a_client_that_never_ends_its_request_is_let_go() {
    let world = World::playing(HELLO);
    let mut connection = world.connect();
    connection.write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ");
    let begun = Instant::now();
    let mut rest = Vec::new();
    // Ends when the server closes the connection.
    drop(connection.stream.read_to_end(&mut rest));
    assert!(begun.elapsed() < Duration::from_secs(40));
    assert_eq!(world.get("/health").status, 200);
}

#[test]
fn heads_without_end_are_refused() {
    let world = World::playing(HELLO);
    let mut connection = world.connect();
    let long = "x".repeat(200_000);
    drop(std::io::Write::write_all(
        &mut connection.stream,
        format!("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: {long}\r\n\r\n").as_bytes(),
    ));
    let mut answer = String::new();
    drop(connection.stream.read_to_string(&mut answer));
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );
    assert_eq!(world.get("/health").status, 200);
}

#[test]
fn a_connection_that_is_half_closed_counts_as_gone() {
    let world = World::playing("turns: [{delay: 30, text: late}]");
    let body = json!({"messages": [{"role": "user", "content": "hello"}]});
    let connection = world.begin("POST", PATH, &body);
    hermes_testkit::eventually("the turn begins", || world.active() == 1);
    connection.stream.shutdown(Shutdown::Write).unwrap();
    let begun = Instant::now();
    hermes_testkit::eventually("the turn ends", || world.active() == 0);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(world.get("/health").status, 200);
}

#[test]
fn noise_is_answered_with_an_error_or_silence() {
    let world = World::playing(HELLO);
    for noise in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
    ] {
        let mut connection = world.connect();
        connection.write(noise);
        connection.stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        drop(connection.stream.read_to_end(&mut answer));
        let text = String::from_utf8_lossy(&answer);
        assert!(
            text.is_empty() || text.starts_with("HTTP/1.1 400"),
            "{text}"
        );
    }
    assert_eq!(world.get("/health").status, 200);
}
