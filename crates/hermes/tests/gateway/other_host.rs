//! Gateways of one home in several containers, or on several machines.

use hermes_fs::FileLock;
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::post::{Post, end, kill, ready, until};

/// What the owner of the lock has written into it.
fn lock_record(post: &Post) -> Value {
    serde_json::from_str(&post.home.read("gateway.lock")).unwrap()
}

// services 7.7
#[test]
fn one_pid_in_two_namespaces_is_two_gateways() {
    let post = Post::new();
    let first = ready(post.call(&["run"]).in_own_process_table().start());
    // Each is the first process of its namespace.
    assert_eq!(post.recorded(), Some(1));
    let host = lock_record(&post)["hostname"].as_str().unwrap().to_owned();
    let place = format!("on host {host}");
    for flags in [&["run"][..], &["run", "--replace"]] {
        let second = post.call(flags).in_own_process_table().run();
        second.exits(78).says_part(&place);
        second.says_part("a home has one gateway");
    }
    post.call(&["run"]).run().exits(78).says_part(&place);

    // Commands do not take the first process they see for the gateway, nor end it.
    post.call(&["status"]).run().exits(3).prints_part(&place);
    post.call(&["list"]).run().succeeds().prints_part(&place);
    post.call(&["start"]).run().exits(1).says_part(&place);
    post.call(&["stop"]).run().exits(3).prints_part(&place);
    let status = post.call(&["status", "--json"]).run().json();
    assert_eq!(status["other_host"], json!(host));
    assert_eq!(status["running"], json!(false));
    let list = post.call(&["list", "--json"]).run().json();
    assert_eq!(list[0]["other_host"], json!(host));
    assert_eq!(lock_record(&post)["pid"], 1);
    // Work is not said to wait that is done there.
    let job = post.home.run(["cron", "create", "every 1h", "hello"]);
    job.succeeds().says_part("another host runs it");
    let card = post
        .home
        .run(["kanban", "create", "x", "--assignee", "default"]);
    let card = card.succeeds();
    assert!(!card.stderr.contains("no dispatcher"), "{card:?}");

    // Its lock ends with it, so that nobody waits for its heartbeat to grow old.
    kill(first.pid(), Signal::KILL);
    let lock = post.home.path("gateway.lock");
    until("its end", || {
        (!FileLock::is_held(&lock).unwrap()).then_some(())
    });
    let mut next = post.gateway(&[]);
    assert_eq!(post.recorded(), Some(next.pid().into()));
    assert_eq!(end(&mut next, Signal::INT), Some(0));
    assert_eq!(post.home.read("gateway.lock"), "");
}

// services 7.7
#[test]
fn a_live_gateway_on_another_machine_is_left_alone_and_a_silent_one_is_replaced() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    let mut elsewhere = lock_record(&post);
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    elsewhere["hostname"] = json!("other-machine");
    elsewhere["boot_id"] = json!("00000000-0000-0000-0000-000000000000");
    elsewhere["heartbeat"] = json!(hermes_home::utc_now());
    post.home.put("gateway.lock", elsewhere.to_string());
    post.call(&["run"]).run().refuses(
        78,
        "another gateway is already running for this home, in another container or on another \
         machine: on host other-machine",
    );
    assert_eq!(lock_record(&post), elsewhere);

    // Silent, or not to be understood.
    elsewhere["heartbeat"] = json!("2026-01-01T00:00:00.000000+00:00");
    for record in [elsewhere.to_string(), "{\"hostname\":".to_owned()] {
        post.home.put("gateway.lock", &record);
        let mut gateway = post.gateway(&[]);
        assert_eq!(lock_record(&post)["pid"], json!(gateway.pid()), "{record}");
        assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    }
}

// services 7.7
#[test]
fn a_gateway_that_lost_its_home_to_another_machine_ends() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    let mut elsewhere = lock_record(&post);
    elsewhere["hostname"] = json!("other-machine");
    elsewhere["boot_id"] = json!("00000000-0000-0000-0000-000000000000");
    elsewhere["heartbeat"] = json!(hermes_home::utc_now());
    post.home.put("gateway.lock", elsewhere.to_string());
    // It looks every ten seconds.
    assert_eq!(gateway.wait().code(), Some(1));
    assert!(
        post.log().contains("on host other-machine"),
        "{}",
        post.log()
    );
    assert_eq!(lock_record(&post), elsewhere);
}
