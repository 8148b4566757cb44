//! Draining on request.

use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::json;

use crate::post::{Post, end};

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
