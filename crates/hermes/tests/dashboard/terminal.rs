//! The chat in a terminal, for front-ends that show one.

use std::io::Write;

use super::client::{client_message, next_message};
use super::server::{Server, TOKEN, dashboard, home};

#[test]
fn what_is_typed_reaches_the_conversation_and_its_answer_comes_back() {
    let home = home();
    home.put(
        "script.yaml",
        "turns:\n  - text: The stone is a sapphire.\n",
    );
    home.put(
        "config.yaml",
        "model: {default: demo, provider: replay, script: script.yaml}\n",
    );
    let server = Server::start(dashboard(&home).arg("--tui"));
    let path = format!("/api/pty?token={TOKEN}");
    let (answer, mut connection) = server.request("GET", &path).upgrade().open();
    assert_eq!(answer.status, 101);
    let mut shown = String::new();
    connection
        .get_mut()
        .write_all(&client_message(false, b"\x1b[RESIZE:100;30]"))
        .unwrap();
    let mut is_asked = false;
    while !shown.contains("sapphire") {
        let message = next_message(&mut connection);
        let message = message.unwrap_or_else(|| panic!("the terminal ended: {shown}"));
        shown.push_str(&String::from_utf8_lossy(&message));
        if !is_asked && !shown.is_empty() {
            is_asked = true;
            connection
                .get_mut()
                .write_all(&client_message(false, b"which stone?\r"))
                .unwrap();
        }
    }
    let (taken, code) = server.terminate();
    assert!(taken < std::time::Duration::from_secs(5), "{taken:?}");
    assert_eq!(code, 0);
}

#[test]
fn it_is_off_unless_asked_for_and_not_for_everybody() {
    let home = home();
    let server = Server::local(&home);
    let path = format!("/api/pty?token={TOKEN}");
    let off = server.request("GET", &path).upgrade().send();
    assert_eq!(off.expect(403)["code"], 4403);
    drop(server);
    let open = dashboard(&home).args(["--tui", "--insecure", "--host", "0.0.0.0"]);
    let server = Server::start(open);
    let refused = server.request("GET", "/api/pty").upgrade().send();
    assert!(
        refused.expect(403)["detail"]
            .as_str()
            .unwrap()
            .contains("INSECURE_FULL")
    );
    drop(server);
    let server = Server::start(dashboard(&home).env("HERMES_DASHBOARD_TUI", "1"));
    let unknown = format!("/api/pty?token={TOKEN}&resume=--yolo");
    assert_eq!(server.request("GET", &unknown).upgrade().send().status, 404);
}
