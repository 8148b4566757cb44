//! Installs that a tool asks for, with an installer played by a script.

use std::fs;

use hermes_testkit::{ProgramCall, eventually};
use serde_json::Value;

use super::Desk;

const SPEECH: &str = "tts.espeak";

struct Speaker {
    desk: Desk,
}

impl Speaker {
    fn new(settings: &str) -> Self {
        let desk = Desk::new();
        desk.lock(SPEECH, "0.7.2");
        desk.home.put(
            "config.yaml",
            format!("tts: {{provider: espeak}}\n{settings}"),
        );
        Self { desk }
    }

    fn call(&self) -> ProgramCall {
        self.desk
            .program(&["tools", "call", "text_to_speech", r#"{"text": "Hello"}"#])
    }

    fn result(&self) -> Value {
        self.call().run().json()
    }
}

// check 12
#[test]
fn a_failed_install_is_told_once_and_then_not_tried_again_for_a_while() {
    let speaker = Speaker::new("");
    speaker
        .desk
        .uv("echo 'the index is on fire' >&2; echo 'and a conflict' ; exit 1");
    let first = speaker.result();
    assert_eq!(first["code"], "installer_failed", "{first}");
    let text = first["error"].as_str().unwrap();
    assert!(
        text.starts_with("Feature 'tts.espeak' unavailable: "),
        "{text}"
    );
    assert!(
        text.contains("the index is on fire") && text.contains("and a conflict"),
        "{text}"
    );
    assert_eq!(speaker.desk.installs(), 1);
    let second = speaker.result();
    assert_eq!(second["code"], "cooling_down");
    let text = second["error"].as_str().unwrap();
    assert!(text.contains("next try at") && text.contains("hermes addons install tts.espeak"));
    assert_eq!(speaker.desk.installs(), 1);
    speaker.desk.addons(&["install", SPEECH]).exits(1);
    assert_eq!(speaker.desk.installs(), 2);
}

#[test]
fn without_a_pause_a_failed_install_is_tried_again() {
    let speaker = Speaker::new("addons: {retry_after_seconds: 0}\n");
    speaker.desk.uv("exit 1");
    assert_eq!(speaker.result()["code"], "installer_failed");
    assert_eq!(speaker.result()["code"], "installer_failed");
    assert_eq!(speaker.desk.installs(), 2);
}

// check 13
#[test]
fn an_install_that_takes_longer_than_a_call_goes_on_without_it() {
    let speaker = Speaker::new("addons: {first_use_wait_seconds: 1}\n");
    let go = speaker.desk.home.outside("go");
    speaker.desk.uv(&format!(
        "while [ ! -e {} ]; do sleep 0.1; done",
        go.display()
    ));
    let result = speaker.result();
    assert_eq!(result["code"], "installing", "{result}");
    assert_eq!(speaker.desk.state(SPEECH), "installing");
    fs::write(&go, "").unwrap();
    eventually("it is installed", || {
        speaker.desk.state(SPEECH) == "installed"
    });
    assert_eq!(speaker.desk.installs(), 1);
}

#[test]
fn a_closed_gate_is_named_and_nothing_is_started() {
    let speaker = Speaker::new("security: {allow_lazy_installs: false}\n");
    let result = speaker.result();
    assert_eq!(result["code"], "disabled_config");
    assert_eq!(speaker.desk.installs(), 0);
    assert!(!speaker.desk.store().exists());
}

// check 31
#[test]
fn looking_at_tools_installs_nothing() {
    let speaker = Speaker::new("");
    for words in [
        &["tools", "list"][..],
        &["tools", "show", "text_to_speech"],
        &["doctor"],
        &["addons", "list"],
        &["addons", "show", SPEECH],
        &["status"],
    ] {
        speaker.desk.program(words).run();
    }
    // A gateway that serves nothing but itself.
    let gateway = speaker.desk.program(&["gateway", "run"]).start();
    let is_ready = |line: &String| line.starts_with("Ready (PID ");
    while !gateway.next_line().as_ref().is_some_and(is_ready) {}
    drop(gateway);
    assert_eq!(speaker.desk.installs(), 0);
    assert!(!speaker.desk.store().exists());
}

#[test]
fn with_confirm_nothing_is_installed_that_nobody_agreed_to() {
    let speaker = Speaker::new("addons: {confirm: true}\n");
    let result = speaker.result();
    assert_eq!(result["code"], "declined", "{result}");
    let text = result["error"].as_str().unwrap();
    assert!(text.contains("nobody can be asked here"), "{text}");
    assert!(text.contains("hermes addons install tts.espeak"), "{text}");
    // A person at a terminal who says no, then yes.
    let mut asked = speaker.call().start_at_terminal();
    asked.wait_for("hermes addons install tts.espeak");
    asked.wait_for("deny): ");
    asked.press("d\r");
    asked.wait().prints_part("\"code\":\"declined\"");
    assert_eq!(speaker.desk.installs(), 0);
    assert_eq!(speaker.desk.state(SPEECH), "absent");
    let mut asked = speaker.call().start_at_terminal();
    asked.wait_for("about 21 MB");
    asked.wait_for("deny): ");
    asked.press("o\r");
    asked.wait();
    assert_eq!(speaker.desk.installs(), 1);
    assert_eq!(speaker.desk.state(SPEECH), "installed");
    // What is there is used without a question.
    assert_ne!(speaker.result()["code"], "declined");
}

#[test]
fn without_a_provider_the_tool_says_which_there_is() {
    let speaker = Speaker::new("");
    for settings in ["", "tts: {provider: edge}\n"] {
        speaker.desk.home.put("config.yaml", settings);
        let result = speaker.result();
        let text = result["error"].as_str().unwrap();
        assert!(text.contains("espeak"), "{text}");
    }
    assert_eq!(speaker.desk.installs(), 0);
}
