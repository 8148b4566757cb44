//! Chats that hear of cards.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, assert_refuses};

#[test]
fn a_subscription_begins_with_the_latest_event() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    desk.kanban(&["notify-list"])
        .succeeds()
        .prints("(no subscriptions)\n");
    let chat = [
        "--platform",
        "telegram",
        "--chat-id",
        "-100",
        "--thread-id",
        "7",
    ];
    let call = |verb: &str, more: &[&str]| {
        let args: Vec<&str> = [verb, &id]
            .iter()
            .chain(&chat)
            .chain(more)
            .copied()
            .collect();
        desk.kanban(&args)
    };
    call("notify-subscribe", &["--user-id", "u"])
        .succeeds()
        .prints(&format!("Subscribed telegram:-100:7 to {id}\n"));
    let newest = desk.count("SELECT max(id) FROM task_events");
    let mut listed = desk.json(&["notify-list", &id]);
    listed[0]["created_at"] = json!(0);
    assert_eq!(
        listed,
        json!([{
            "task_id": id, "platform": "telegram", "chat_id": "-100", "thread_id": "7",
            "user_id": "u", "notifier_profile": "default", "created_at": 0,
            "last_event_id": newest,
        }])
    );
    call("notify-subscribe", &["--notifier-profile", "coder"]).succeeds();
    desk.kanban(&["notify-list"]).succeeds().prints(&format!(
        "  {id}  telegram:-100:7  (since event {newest})  owner=coder\n"
    ));
    call("notify-unsubscribe", &[])
        .succeeds()
        .prints(&format!("Unsubscribed telegram:-100:7 from {id}\n"));
    let gone = call("notify-unsubscribe", &[]);
    assert_refuses(&gone, 1, &format!("this chat does not follow {id}"));
}

#[test]
fn a_chat_has_a_platform_and_a_name() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    for (platform, chat, flag) in [("", "1", "--platform"), ("telegram", " ", "--chat-id")] {
        let refused = desk.kanban(&[
            "notify-subscribe",
            &id,
            "--platform",
            platform,
            "--chat-id",
            chat,
        ]);
        assert_refuses(&refused, 2, &format!("{flag} must not be empty"));
    }
    desk.kanban(&["notify-subscribe", &id, "--platform", "telegram"])
        .exits(2);
    let unknown = desk.kanban(&[
        "notify-subscribe",
        "t_none",
        "--platform",
        "p",
        "--chat-id",
        "1",
    ]);
    assert_refuses(&unknown, 1, "no such card: 't_none'");
    assert_eq!(desk.json(&["notify-list"]), json!([]));
}
