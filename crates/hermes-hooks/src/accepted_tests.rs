use pretty_assertions::assert_eq;

use super::*;

#[test]
fn a_hook_is_accepted_for_its_event_until_it_is_revoked() {
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("check.sh");
    hermes_fs::write_atomic(&script, b"", 0o600).unwrap();
    let command = script.to_str().unwrap();
    let accepted = AcceptedHooks::of_home(home.path(), home.path());
    assert_eq!(accepted.find(HookEvent::PreToolCall, command), None);
    accepted.accept(HookEvent::PreToolCall, command).unwrap();
    accepted.accept(HookEvent::PreToolCall, command).unwrap();
    accepted.accept(HookEvent::PostToolCall, command).unwrap();

    let found = accepted.find(HookEvent::PreToolCall, command).unwrap();
    assert_eq!(found.script_time, script_time(command, home.path()));
    assert!(found.at.unwrap().ends_with('Z'));
    assert_eq!(accepted.find(HookEvent::PreLlmCall, command), None);
    assert_eq!(accepted.find(HookEvent::PreToolCall, "other"), None);

    assert_eq!(accepted.revoke("other").unwrap(), 0);
    assert_eq!(accepted.revoke(command).unwrap(), 2);
    assert_eq!(accepted.find(HookEvent::PreToolCall, command), None);
}

#[test]
fn what_the_reference_wrote_counts_and_stays() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("shell-hooks-allowlist.json");
    let theirs = r#"{
  "approvals": [
    {
      "approved_at": "2026-01-02T03:04:05.000006Z",
      "command": "~/x.sh",
      "event": "pre_tool_call",
      "script_mtime_at_approval": null
    },
    "stray"
  ],
  "note": 7
}"#;
    hermes_fs::write_atomic(&file, theirs.as_bytes(), 0o600).unwrap();
    let accepted = AcceptedHooks::of_home(home.path(), home.path());
    let found = accepted.find(HookEvent::PreToolCall, "~/x.sh").unwrap();
    assert_eq!(found.at.as_deref(), Some("2026-01-02T03:04:05.000006Z"));
    accepted.accept(HookEvent::PreLlmCall, "y").unwrap();
    let now: Value =
        serde_json::from_slice(&hermes_fs::read_capped(&file, LIMIT).unwrap()).unwrap();
    assert_eq!(now["note"], 7);
    assert_eq!(now["approvals"][0]["command"], "~/x.sh");
    assert_eq!(now["approvals"][1]["command"], "y");
}

#[test]
fn a_file_that_cannot_be_understood_accepts_nothing() {
    let home = tempfile::tempdir().unwrap();
    let accepted = AcceptedHooks::of_home(home.path(), home.path());
    for text in [
        "",
        "garbage",
        "[]",
        r#"{"approvals": {"event": "pre_tool_call"}}"#,
    ] {
        let file = home.path().join("shell-hooks-allowlist.json");
        hermes_fs::write_atomic(&file, text.as_bytes(), 0o600).unwrap();
        assert_eq!(accepted.find(HookEvent::PreToolCall, "x"), None, "{text}");
    }
}

#[test]
fn many_who_accept_at_once_lose_nothing() {
    let home = tempfile::tempdir().unwrap();
    let accepted = AcceptedHooks::of_home(home.path(), home.path());
    std::thread::scope(|scope| {
        for index in 0..20 {
            let accepted = &accepted;
            scope.spawn(move || {
                accepted
                    .accept(HookEvent::PreToolCall, &format!("hook-{index}"))
                    .unwrap();
            });
        }
    });
    for index in 0..20 {
        let command = format!("hook-{index}");
        assert!(accepted.find(HookEvent::PreToolCall, &command).is_some());
    }
}
