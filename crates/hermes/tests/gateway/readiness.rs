//! What supervisors hear, and what holds a start back.

use std::os::unix::net::UnixDatagram;
use std::time::{Duration, SystemTime};

use pretty_assertions::assert_eq;
use rustix::process::Signal;

use crate::post::{Post, end, kill};

fn heard(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 256];
    socket
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    let count = socket.recv(&mut buffer).unwrap();
    String::from_utf8(buffer[..count].to_vec()).unwrap()
}

#[test]
fn systemd_hears_that_it_is_ready_alive_and_stopping() {
    let post = Post::new();
    let path = post.home.outside("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let mut gateway = post
        .call(&["run"])
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "200000")
        .env("INVOCATION_ID", "x")
        .start();
    assert!(heard(&socket).starts_with("READY=1"));
    assert_eq!(post.state()["gateway_state"], "running");
    assert_eq!(post.state()["supervised"], true);
    assert_eq!(heard(&socket), "WATCHDOG=1");
    assert_eq!(heard(&socket), "WATCHDOG=1");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    let mut last = heard(&socket);
    while last == "WATCHDOG=1" {
        last = heard(&socket);
    }
    assert_eq!(last, "STOPPING=1");
}

#[test]
fn a_gateway_on_its_own_counts_as_nobodys_child() {
    let post = Post::new();
    let call = || post.call(&["run"]).env("INVOCATION_ID", "x");
    for call in [
        call().arg("--no-supervise"),
        call().env("HERMES_GATEWAY_NO_SUPERVISE", "1"),
    ] {
        let mut gateway = crate::post::ready(call.start());
        assert_eq!(post.state()["supervised"], false);
        assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    }
}

#[test]
fn s6_gets_a_newline_on_its_descriptor() {
    let post = Post::new();
    let call = post.call(&["run", "-q", "--ready-fd", "3"]);
    let mut gateway = call
        .wrapped(["sh", "-c", "exec \"$0\" \"$@\" 3>&1 >/dev/null"])
        .start();
    assert_eq!(gateway.next_line().as_deref(), Some(""));
    assert_eq!(post.state()["gateway_state"], "running");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    assert_eq!(gateway.next_line(), None);
}

#[test]
fn too_many_starts_are_held_back_and_can_still_be_stopped() {
    let post = Post::new();
    post.home.put(
        "config.yaml",
        "gateway: {respawn_storm: {max_starts: 3, window_seconds: 60}}\n",
    );
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    let starts: Vec<String> = (0..3).map(|_| now.as_secs_f64().to_string()).collect();
    post.home.put("gateway-starts.log", starts.join("\n"));
    let mut held = post.call(&["run"]).start();
    post.until_logged("the gateway was started too often; it goes on in 10 s");
    assert_eq!(post.state()["gateway_state"], "starting");
    kill(held.pid(), Signal::INT);
    assert_eq!(held.wait().code(), Some(0));
    assert_eq!(post.home.read("gateway-starts.log").lines().count(), 4);
    let free = post
        .call(&["run"])
        .env("HERMES_GATEWAY_MAX_STARTS", "0")
        .start();
    crate::post::ready(free);
}

#[test]
#[cfg(debug_assertions)]
fn root_is_refused_in_the_image_and_nowhere_else() {
    let post = Post::new();
    let image = post.home.outside("fake-root/opt/hermes/bin");
    std::fs::create_dir_all(&image).unwrap();
    std::fs::copy(post.home.program(), image.join("hermes")).unwrap();
    let call = || post.call(&["run"]).program(image.join("hermes")).on_host();
    let mut allowed = crate::post::ready(call().env("HERMES_ALLOW_ROOT_GATEWAY", "1").start());
    assert_eq!(end(&mut allowed, Signal::INT), Some(0));
    if rustix::process::geteuid().is_root() {
        call().run().refuses(
            1,
            "refusing to run the gateway as root in the container image",
        );
    } else {
        crate::post::ready(call().start());
    }
    let mut elsewhere = post.gateway(&[]);
    assert_eq!(end(&mut elsewhere, Signal::INT), Some(0));
}
