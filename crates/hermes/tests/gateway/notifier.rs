//! Those who follow cards hear of them through the gateway.

use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::Value;

use crate::post::{Post, end, ready, until};

fn kanban(post: &Post, args: &[&str]) -> String {
    let call = post.home.hermes(["kanban"]).args(args).run();
    call.succeeds();
    call.stdout
}

/// A card that no dispatcher touches.
fn card(post: &Post, title: &str) -> String {
    let made = kanban(post, &["create", title, "--json"]);
    let made: Value = serde_json::from_str(&made).unwrap();
    made["id"].as_str().unwrap().to_owned()
}

fn follow(post: &Post, card: &str, platform: &str, chat: &str) {
    let to = ["--platform", platform, "--chat-id", chat];
    kanban(post, &[&["notify-subscribe", card], &to[..]].concat());
}

fn subscriptions(post: &Post) -> Vec<Value> {
    serde_json::from_str(&kanban(post, &["notify-list", "--json"])).unwrap()
}

fn notices(post: &Post, name: &str) -> String {
    let path = post.home.path("notifications").join(format!("{name}.log"));
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn files_and_cards_hear_of_a_card_and_chats_wait_for_their_platform() {
    let post = Post::new();
    let (watched, other) = (card(&post, "Write the report"), card(&post, "Log"));
    follow(&post, &watched, "local", "ops");
    follow(&post, &watched, "board", &other);
    follow(&post, &watched, "telegram", "-100");
    let mut gateway = post.gateway(&[]);
    kanban(&post, &["block", &watched, "needs", "a", "decision"]);
    until("the notice in the file", || {
        notices(&post, "ops")
            .contains(&format!(
                "⏸ [default] Kanban {watched} blocked: needs a decision"
            ))
            .then_some(())
    });
    assert_eq!(post.home.mode("notifications/ops.log"), 0o600);
    kanban(&post, &["unblock", &watched]);
    kanban(
        &post,
        &["complete", &watched, "--summary", "All done\nsecond line"],
    );
    let done = format!("✔ [default] Kanban {watched} done: Write the report");
    until("the notice of the end", || {
        notices(&post, "ops").contains(&done).then_some(())
    });
    until("the comments", || {
        let shown = kanban(&post, &["show", &other, "--json"]);
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let comments = shown["comments"].as_array().unwrap().clone();
        let text: String = comments
            .iter()
            .filter_map(|one| one["body"].as_str())
            .collect();
        assert!(comments.iter().all(|one| one["author"] == "notifier"));
        (text.contains("blocked: needs a decision") && text.contains(&done)).then_some(())
    });
    // The subscriptions to a card that is done have ended, except where nobody could be told.
    until("the end of the subscriptions", || {
        (subscriptions(&post).len() == 1).then_some(())
    });
    let left = subscriptions(&post).remove(0);
    assert_eq!(left["platform"], "telegram");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    // Each was told once, in order, and not of what needs no telling.
    let told = notices(&post, "ops");
    let events: Vec<&str> = told
        .lines()
        .filter(|line| line.contains("Kanban"))
        .collect();
    assert_eq!(events.len(), 2, "{told}");
    assert!(told.contains("\n  All done\n"), "{told}");
    assert!(!told.contains("second line"));
}

#[test]
fn verdicts_of_a_review_are_told_once() {
    let post = Post::new();
    let watched = card(&post, "x");
    follow(&post, &watched, "local", "ops");
    let mut gateway = post.gateway(&[]);
    let send_back = ["review", "request-changes", &watched, "more tests"];
    kanban(&post, &send_back);
    until("the notice of the changes", || {
        notices(&post, "ops")
            .contains("sent back by its reviewer: more tests")
            .then_some(())
    });
    kanban(&post, &["review", "approve", &watched, "--author", "boss"]);
    until("the notice of the approval", || {
        notices(&post, "ops")
            .contains("approved by boss")
            .then_some(())
    });
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    let told = notices(&post, "ops");
    let events = told.lines().filter(|line| line.contains("Kanban"));
    // Sent back, done, approved; that it is ready again goes without saying.
    assert_eq!(events.count(), 3, "{told}");
}

#[test]
fn what_happened_while_no_gateway_ran_is_told_by_the_next() {
    let post = Post::new();
    let watched = card(&post, "x");
    follow(&post, &watched, "local", "ops");
    let mut gateway = post.gateway(&[]);
    gateway.kill();
    kanban(&post, &["block", &watched, "first"]);
    let mut gateway = post.gateway(&[]);
    until("the notice", || {
        notices(&post, "ops")
            .contains("blocked: first")
            .then_some(())
    });
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    let mut gateway = post.gateway(&[]);
    kanban(&post, &["unblock", &watched]);
    kanban(&post, &["block", &watched, "second"]);
    until("the second notice", || {
        notices(&post, "ops")
            .contains("blocked again, now in triage: second")
            .then_some(())
    });
    assert_eq!(notices(&post, "ops").matches("first").count(), 1);
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}

#[test]
fn one_gateway_of_an_installation_tells_and_another_takes_over() {
    let post = Post::new();
    post.home
        .hermes(["profile", "create", "coder"])
        .run()
        .succeeds();
    let config = "gateway:\n  respawn_storm:\n    max_starts: 0\n";
    post.home.put("profiles/coder/config.yaml", config);
    let mut first = post.gateway(&[]);
    let second = post.home.hermes(["-p", "coder", "gateway", "run"]).start();
    let mut second = ready(second);
    let state = |file: &str| -> Value { serde_json::from_str(&post.home.read(file)).unwrap() };
    let of_second = || state("profiles/coder/gateway_state.json")["services"]["notifier"].clone();
    until("the second to stand by", || {
        (of_second()["state"] == "standby").then_some(())
    });
    assert_eq!(
        state("gateway_state.json")["services"]["notifier"]["state"],
        "running"
    );
    first.kill();
    let watched = card(&post, "x");
    follow(&post, &watched, "local", "ops");
    kanban(&post, &["block", &watched, "later"]);
    // In the home of the profile that the subscription names, whichever gateway tells.
    until("the notice", || {
        notices(&post, "ops")
            .contains("blocked: later")
            .then_some(())
    });
    until("the second to say so", || {
        (of_second()["state"] == "running").then_some(())
    });
    assert_eq!(end(&mut second, Signal::INT), Some(0));
}

#[test]
fn a_follower_that_cannot_be_told_is_refused_or_ended_with_the_reason() {
    let post = Post::new();
    let (watched, other) = (card(&post, "x"), card(&post, "y"));
    let try_to = |platform: &str, chat: &str| {
        let to = ["--platform", platform, "--chat-id", chat];
        let args = [&["kanban", "notify-subscribe", &watched], &to[..]].concat();
        post.home.hermes(args).run()
    };
    try_to("local", "../../x")
        .exits(1)
        .says_part("name of a file");
    try_to("board", "t_00000000")
        .exits(1)
        .says_part("t_00000000");
    try_to("board", &watched).exits(2).says_part("itself");
    try_to("telegram", "7")
        .succeeds()
        .says_part("No gateway is connected to telegram");
    follow(&post, &watched, "board", &other);
    kanban(&post, &["archive", &other]);
    kanban(&post, &["archive", "--rm", &other]);
    let mut gateway = post.gateway(&[]);
    kanban(&post, &["block", &watched, "reason"]);
    post.until_logged("a subscription was ended");
    until("its end", || {
        let left = subscriptions(&post);
        (left.len() == 1 && left[0]["platform"] == "telegram").then_some(())
    });
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}
