//! Files from a server for a card: redirects, limits, and hosts that are nobody's business.

use std::io::{Read, Write};
use std::net::TcpListener;

use hermes_board::store::NewTask;
use hermes_http::Downloads;
use hermes_tools::BoardAccess;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::board_stage::{BoardStage, refusal};

/// Answers each request by its path, as many as there are; gives the address.
fn server(answers: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for _ in 0..answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let answer = match path.as_str() {
                "/file.txt" => "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\
                                Content-Length: 5\r\nConnection: close\r\n\r\nhello"
                    .to_owned(),
                "/large" => "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\
                             Connection: close\r\n\r\n"
                    .to_owned(),
                "/moved" => moved("/file.txt"),
                "/circle" => moved("/circle"),
                "/disk" => moved("file:///etc/passwd"),
                _ => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    .to_owned(),
            };
            // Whoever has read enough may hang up.
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    format!("http://127.0.0.1:{port}")
}

fn moved(to: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

#[test]
fn a_file_is_fetched_past_redirects_and_attached() {
    let board = BoardStage::new();
    let own = board.card(NewTask::titled("x"));
    let run = board.claimed(&own);
    let url = format!("{}/moved", server(2));
    let attached = board.worker(&own, run, "kanban_attach_url", json!({"url": url}));
    assert_eq!(
        (&attached["filename"], &attached["size"]),
        (&json!("file.txt"), &json!(5)),
        "{attached}"
    );
    let path = attached["stored_path"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "hello");
    let listed = board.store().attachments(&own).unwrap();
    assert_eq!(listed[0].content_type.as_deref(), Some("text/plain"));
}

#[test]
fn what_cannot_be_fetched_is_said_and_nothing_is_attached() {
    let board = BoardStage::new();
    let own = board.card(NewTask::titled("x"));
    let run = board.claimed(&own);
    for (path, requests, part) in [
        ("/none", 1, "HTTP 404"),
        ("/large", 1, "more than 25 MiB"),
        ("/circle", 6, "more than 5 times"),
        ("/disk", 1, "Only http and https"),
    ] {
        let url = format!("{}{path}", server(requests));
        let refused = board.worker(&own, run, "kanban_attach_url", json!({"url": url}));
        assert!(refusal(&refused).contains(part), "{path}: {refused}");
    }
    assert_eq!(board.store().attachments(&own).unwrap(), []);
}

#[test]
fn this_machine_and_its_neighbours_are_out_of_reach() {
    let board = BoardStage::new();
    let own = board.card(NewTask::titled("x"));
    let access = BoardAccess {
        downloads: Downloads::default(),
        ..board.access()
    };
    let url = format!("{}/file.txt", server(0));
    let args = json!({"url": url, "task_id": own});
    let refused = board.with(access, "kanban_attach_url", args);
    assert!(
        refusal(&refused).contains("not on the public web"),
        "{refused}"
    );
    // With the setting a redirect is followed anywhere, and its host is named if nobody is there.
    let args = json!({"url": "http://nosuchhost.invalid/x", "task_id": own});
    let refused = board.orchestrator("kanban_attach_url", args);
    assert!(
        refusal(&refused).contains("could not be found"),
        "{refused}"
    );
}
