//! What a gateway that has nothing to do costs.

use rustix::process::Signal;

use crate::post::{Post, end, until};

/// Kilobytes of this row of `/proc/PID/status`.
fn kilobytes(pid: u32, row: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(row))
        .unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn an_idle_gateway_gives_back_what_its_start_has_taken() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    // The program alone has several times as much code, most of which the start touches.
    until("the pages of the program to be given back", || {
        (kilobytes(gateway.pid(), "RssFile:") < 8 * 1024).then_some(())
    });
    // It works as before.
    post.call(&["status"]).run().succeeds();
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}
