//! No server outlives its conversation.

use std::process::{Command, Stdio};

use hermes_testkit::eventually;

use crate::{Desk, processes_with, wait_for_none};

const ONE_CALL: &str = "turns:\n  - match: {step: 1}\n    \
     calls: [{tool: mcp__srv__echo, arguments: {text: a}}]\n  - match: {tool: mcp__srv__echo}\n    text: done\n";
const LONG_CALL: &str = "turns:\n  - match: {step: 1}\n    \
     calls: [{tool: mcp__srv__sleep, arguments: {seconds: 600}}]\n  - text: done\n";

// check 26
#[test]
fn nothing_is_left_after_a_conversation() {
    for mode in ["ends-well", "deaf", "grandchild"] {
        let desk = Desk::new(&[mode, "ends-1"], "");
        desk.chat(ONE_CALL).succeeds().prints_part("done");
        wait_for_none("ends-1");
    }
}

#[test]
fn nothing_is_left_after_hermes_was_killed() {
    for mode in ["killed-well", "deaf", "grandchild"] {
        let desk = Desk::new(&[mode, "ends-2"], "");
        desk.home.put("script.yaml", LONG_CALL);
        let mut hermes = Command::new(desk.home.program())
            .args(["chat", "-Q", "-q", "go"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", desk.home.user_home())
            .env("HERMES_HOME", desk.home.root())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        eventually("the call is under way", || {
            let log = "logs/mcp-stderr.log";
            desk.home.has(log) && desk.home.read(log).contains("sleeping")
        });
        let wanted = if mode == "grandchild" { 2 } else { 1 };
        assert!(processes_with("ends-2").len() >= wanted, "{mode}");
        hermes.kill().unwrap();
        hermes.wait().unwrap();
        wait_for_none("ends-2");
    }
}

#[test]
fn nothing_is_left_of_a_start_that_was_interrupted() {
    let directory = tempfile::tempdir().unwrap();
    let mark = directory.path().join("hangs-now");
    let desk = Desk::new(&["hangs", "ends-3", &mark.display().to_string()], "");
    // What the server has is known from now on, and its next start hangs.
    desk.call("echo", serde_json::json!({"text": "x"}));
    std::fs::write(&mark, "").unwrap();
    desk.home.put("script.yaml", ONE_CALL);
    let mut screen = desk.home.hermes(["chat"]).start_on_screen(24, 80);
    screen.wait_until("the screen is there", |text| !text.trim().is_empty());
    screen.press("go\r");
    eventually("the server is being started", || {
        !processes_with("ends-3").is_empty()
    });
    screen.press("\u{3}");
    screen.wait_for("Interrupted");
    // The conversation is still there, and the server is not.
    wait_for_none("ends-3");
    screen.press("\u{3}");
    screen.wait_for("Press Ctrl-C again to exit");
    screen.press("\u{3}");
    // The last turn was interrupted.
    screen.wait().exits(1);
}
