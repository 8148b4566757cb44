//! Draining on request.

use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::json;

use crate::post::{Post, end, kill, until};

#[test]
fn a_request_drains_the_gateway_until_it_is_taken_back() {
    let post = Post::new();
    let first = hermes_proc::identity_of(1).unwrap();
    let epoch = format!("{}:{}", first.boot_id, first.start_time);
    let mut gateway = post.gateway(&[]);
    let request = |epoch: &str| {
        let request = json!({"action": "drain", "epoch": epoch, "principal": "test"});
        post.home.put(".drain_request.json", request.to_string());
    };
    request(&epoch);
    post.until_state("to drain", |state| state["gateway_state"] == "draining");
    std::fs::remove_file(post.home.path(".drain_request.json")).unwrap();
    post.until_state("to run again", |state| state["gateway_state"] == "running");
    // A request from before the last boot is none.
    request("other-boot:1");
    post.configure("kanban: {dispatch_in_gateway: false}\n");
    post.until_state("the next change", |state| {
        state["services"]["dispatcher"]["state"] == "standby"
    });
    assert_eq!(post.state()["gateway_state"], "running");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}

#[test]
fn a_second_signal_cuts_work_off_and_a_third_ends_the_gateway_at_once() {
    let post = Post::new();
    post.configure("agent: {restart_drain_timeout: 60}\n");
    let stubborn = "trap '' TERM INT\ntouch \"$0.began\"\nwhile :; do sleep 0.1; done\n";
    post.home.put("scripts/stubborn.sh", stubborn);
    let create = [
        "cron",
        "create",
        "in 0m",
        "--script",
        "stubborn.sh",
        "--no-agent",
    ];
    post.home.run(create).succeeds();
    let mut gateway = post.gateway(&[]);
    until("the job", || {
        post.home.has("scripts/stubborn.sh.began").then_some(())
    });
    kill(gateway.pid(), Signal::INT);
    post.until_state("to drain", |state| state["gateway_state"] == "draining");
    kill(gateway.pid(), Signal::INT);
    post.until_logged("cut off by a second signal");
    kill(gateway.pid(), Signal::INT);
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(post.log().contains("one signal more"), "{}", post.log());
    // Not everything had ended.
    assert!(!post.home.has(".clean_shutdown"));
    let script = post.home.path("scripts/stubborn.sh");
    post.home.run(["cron", "runs", "--json"]).succeeds();
    end_script(&script);
}

/// Ends what ignores every other signal.
fn end_script(script: &std::path::Path) {
    for pid in hermes_proc::pids_of_user(rustix::process::getuid().as_raw()) {
        let words = hermes_proc::command_line(pid).unwrap_or_default();
        if words.iter().any(|word| word == script.as_os_str()) {
            kill(pid, Signal::KILL);
        }
    }
}
