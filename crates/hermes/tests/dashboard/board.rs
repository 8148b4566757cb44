//! The board in a browser: shapes, moves, and events as they happen.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;

use hermes_testkit::TestHome;
use serde_json::{Value, json};

use super::client::next_text;
use super::server::{Server, TOKEN, home};

const ROOT: &str = "/api/plugins/kanban";

fn create(server: &Server, body: &Value) -> Value {
    let path = format!("{ROOT}/tasks");
    server.call("POST", &path, body).expect(200)
}

fn column<'b>(board: &'b Value, name: &str) -> &'b Vec<Value> {
    let columns = board["columns"].as_array().unwrap();
    let found = columns.iter().find(|column| column["name"] == name);
    found.unwrap()["tasks"].as_array().unwrap()
}

#[test]
fn board_has_its_columns_and_each_card_its_ages() {
    let home = home();
    let server = Server::local(&home);
    create(&server, &json!({"title": "Only", "assignee": "default"}));
    let board = server.get(&format!("{ROOT}/board"));
    let names: Vec<&str> = board["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    let expected = [
        "triage",
        "todo",
        "scheduled",
        "ready",
        "running",
        "blocked",
        "review",
        "done",
    ];
    assert_eq!(names, expected);
    let card = &column(&board, "ready")[0];
    let age: Vec<&String> = card["age"].as_object().unwrap().keys().collect();
    let expected = [
        "created_age_seconds",
        "started_age_seconds",
        "time_to_complete_seconds",
    ];
    assert_eq!(age, expected);
}

#[test]
fn cards_are_made_changed_moved_linked_and_deleted() {
    let home = home();
    let server = Server::local(&home);
    let made = create(
        &server,
        &json!({"title": "First", "assignee": "default", "priority": 3}),
    );
    let first = made["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(made["task"]["status"], "ready");
    assert!(made["warning"].as_str().unwrap().contains("no dispatcher"));
    let second = create(&server, &json!({"title": "Second", "parents": [first]}));
    assert!(second.get("warning").is_none());
    let second = second["task"]["id"].as_str().unwrap().to_owned();
    let board = server.get(&format!("{ROOT}/board"));
    let card = &column(&board, "ready")[0];
    assert_eq!(card["link_counts"], json!({"parents": 0, "children": 1}));
    assert_eq!(card["progress"], json!({"done": 0, "total": 1}));
    assert_eq!(column(&board, "todo")[0]["id"], second.as_str());
    assert!(board["latest_event_id"].as_i64().unwrap() >= 2);

    let patch = |id: &str, body: Value| server.call("PATCH", &format!("{ROOT}/tasks/{id}"), &body);
    let text = json!({"title": " Renamed ", "body": "why", "priority": 9});
    let changed = patch(&first, text).expect(200);
    assert_eq!(changed["task"]["title"], "Renamed");
    assert_eq!(
        (&changed["task"]["body"], &changed["task"]["priority"]),
        (&json!("why"), &json!(9))
    );
    assert_eq!(patch(&first, json!({"title": "  "})).status, 400);
    // The parent is not done.
    assert_eq!(patch(&second, json!({"status": "ready"})).status, 409);
    assert_eq!(patch(&first, json!({"status": "running"})).status, 400);
    assert_eq!(patch(&first, json!({"status": "flying"})).status, 400);
    assert_eq!(patch(&first, json!({"status": "review"})).status, 409);
    let blocked = patch(&first, json!({"status": "blocked", "block_reason": "wait"}));
    assert_eq!(blocked.expect(200)["task"]["status"], "blocked");
    assert_eq!(
        patch(&first, json!({"status": "ready"})).expect(200)["task"]["status"],
        "ready"
    );
    let done = patch(&first, json!({"status": "done", "summary": "--all --good"}));
    assert_eq!(done.expect(200)["task"]["status"], "done");
    let card = server.get(&format!("{ROOT}/tasks/{second}"));
    assert_eq!(card["task"]["status"], "ready");
    assert_eq!(card["links"]["parents"], json!([first]));
    let kinds: Vec<&str> = card["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"created"), "{kinds:?}");

    let comment = json!({"body": "<script>alert(1)</script>"});
    server
        .call("POST", &format!("{ROOT}/tasks/{second}/comments"), &comment)
        .expect(200);
    assert_eq!(
        server
            .call(
                "POST",
                &format!("{ROOT}/tasks/{second}/comments"),
                &json!({"body": " "})
            )
            .status,
        400
    );
    let bulk = json!({"ids": [second, "t_ffffffff", "--help"], "priority": 5});
    let bulk = server
        .call("POST", &format!("{ROOT}/tasks/bulk"), &bulk)
        .expect(200);
    let ok: Vec<bool> = bulk["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["ok"].as_bool().unwrap())
        .collect();
    assert_eq!(ok, [true, false, false]);
    let path = format!("{ROOT}/tasks/{second}");
    assert_eq!(
        server.with_token("DELETE", &path).send().expect(200)["deleted"],
        true
    );
    assert_eq!(server.with_token("GET", &path).send().status, 404);
    let stats = server.get(&format!("{ROOT}/stats"));
    assert_eq!(stats["by_status"], json!({"done": 1}));
}

/// As in the reference, a card leaves triage, and is put there, by hand.
#[test]
fn card_moves_between_triage_todo_and_ready() {
    let home = home();
    let server = Server::local(&home);
    let made = create(&server, &json!({"title": "Which?", "triage": true}));
    let path = format!("{ROOT}/tasks/{}", made["task"]["id"].as_str().unwrap());
    for to in ["todo", "triage", "ready", "todo"] {
        let body = json!({"status": to});
        let moved = server.call("PATCH", &path, &body).expect(200);
        assert_eq!(moved["task"]["status"], to);
    }
}

#[test]
fn boards_are_made_chosen_and_archived() {
    let home = home();
    let server = Server::local(&home);
    let boards = format!("{ROOT}/boards");
    let made = server
        .call("POST", &boards, &json!({"slug": "side", "name": "Side"}))
        .expect(200);
    assert_eq!(
        (&made["board"]["slug"], &made["current"]),
        (&json!("side"), &json!("default"))
    );
    server
        .call(
            "POST",
            &format!("{ROOT}/tasks?board=side"),
            &json!({"title": "Here"}),
        )
        .expect(200);
    let side = server.get(&format!("{ROOT}/board?board=side"));
    assert_eq!(column(&side, "ready").len(), 1);
    let default = server.get(&format!("{ROOT}/board"));
    assert_eq!(column(&default, "ready").len(), 0);
    let switched = server
        .with_token("POST", &format!("{boards}/side/switch"))
        .send();
    assert_eq!(switched.expect(200)["current"], "side");
    let listed = server.get(&boards);
    let found = listed["boards"]
        .as_array()
        .unwrap()
        .iter()
        .find(|board| board["slug"] == "side");
    assert_eq!(found.unwrap()["total"], 1);
    let gone = server
        .with_token("DELETE", &format!("{boards}/side"))
        .send()
        .expect(200);
    assert_eq!(gone["result"]["action"], "archived");
    assert_eq!(
        server
            .call("POST", &boards, &json!({"slug": "../x"}))
            .status,
        400
    );
}

fn add_card(home: &TestHome, title: &str) {
    home.run(["kanban", "create", title]).succeeds();
}

/// The data of the next event of a stream.
fn next_data(reader: &mut BufReader<TcpStream>) -> Value {
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the stream ended");
        if let Some(data) = line.strip_prefix("data: ") {
            return serde_json::from_str(data).unwrap();
        }
    }
}

#[test]
fn what_another_process_does_reaches_every_client_and_a_late_one_misses_nothing() {
    let home = home();
    let server = Server::local(&home);
    add_card(&home, "before");
    let stream = server
        .with_token("GET", &format!("{ROOT}/events/stream"))
        .header("Accept", "text/event-stream");
    let (head, mut events) = stream.open();
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let socket = format!("{ROOT}/events?token={TOKEN}");
    let (head, mut frames) = server.request("GET", &socket).upgrade().open();
    assert_eq!(head.status, 101);
    add_card(&home, "during");
    let event = next_data(&mut events);
    assert_eq!(event["events"][0]["kind"], "created");
    let frame: Value = serde_json::from_str(&next_text(&mut frames).unwrap()).unwrap();
    assert_eq!(frame["events"][0]["task_id"], event["events"][0]["task_id"]);
    assert!(frame["cursor"].as_i64().unwrap() > 0);

    let from_start = format!("{ROOT}/events?since=0&token={TOKEN}");
    let (_, mut late) = server.request("GET", &from_start).upgrade().open();
    let caught_up: Value = serde_json::from_str(&next_text(&mut late).unwrap()).unwrap();
    assert!(
        caught_up["events"].as_array().unwrap().len() >= 2,
        "{caught_up}"
    );
    let again = server
        .with_token("GET", &format!("{ROOT}/events/stream"))
        .header("Accept", "text/event-stream")
        .header("Last-Event-ID", "0");
    let (_, mut again) = again.open();
    assert!(next_data(&mut again)["events"].as_array().unwrap().len() >= 2);
}

#[test]
fn the_board_goes_on_after_it_was_gone_for_a_while() {
    let home = home();
    add_card(&home, "one");
    let server = Server::local(&home);
    let path = format!("{ROOT}/events?token={TOKEN}");
    let (_, mut frames) = server.request("GET", &path).upgrade().open();
    for round in 0..3 {
        add_card(&home, &format!("round {round}"));
        assert!(next_text(&mut frames).unwrap().contains("created"));
    }
}
