//! Exports: whole, masked, and never half a file.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::SessionHome;

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn one_session_a_line_with_all_its_messages() {
    let home = SessionHome::new();
    home.talk("a1", "cli", &["first", "second"]);
    home.talk("b1", "telegram", &["third"]);
    let all = lines(&home.sessions(&["export", "-"]).succeeds().stdout);
    let ids: Vec<&Value> = all.iter().map(|session| &session["id"]).collect();
    assert_eq!(ids, [&json!("a1"), &json!("b1")]);
    let messages = all[0]["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 6);
    assert_eq!(messages[1]["tool_calls"][0]["function"]["name"], "terminal");
    assert_eq!(messages[2]["content"], "did first");
    let one = lines(
        &home
            .sessions(&["export", "-", "--session-id", "b"])
            .succeeds()
            .stdout,
    );
    assert_eq!((one.len(), &one[0]["id"]), (1, &json!("b1")));
    let some = lines(
        &home
            .sessions(&["export", "-", "--source", "cli"])
            .succeeds()
            .stdout,
    );
    assert_eq!(some.len(), 1);
    home.sessions(&["export", "-", "--min-messages", "99"])
        .succeeds()
        .prints("");
    home.sessions(&["export", "-", "--session-id", "zzz"])
        .exits(1)
        .prints("");
    home.sessions(&["export"]).exits(2);
    home.sessions(&["export", "-", "--older-than", "soon"])
        .exits(2);
}

#[test]
fn a_file_is_private_and_replaced_as_a_whole() {
    let home = SessionHome::new();
    home.talk("a", "cli", &["hello"]);
    let out = home.home.put_outside("out.jsonl", "old", 0o644);
    let path = out.to_str().unwrap();
    home.sessions(&["export", path, "--dry-run"])
        .succeeds()
        .prints("Would export 1 session\n");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "old");
    home.sessions(&["export", path])
        .succeeds()
        .prints("")
        .says_part("Exported 1 session to ");
    assert_eq!(lines(&std::fs::read_to_string(&out).unwrap()).len(), 1);
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&out).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    home.sessions(&["export", "/dev/stdout"])
        .exits(1)
        .says_part("not a regular file");
    home.sessions(&["export", "/nowhere/at/all"]).exits(1);
    let folder = out.parent().unwrap();
    let left = std::fs::read_dir(folder).unwrap().filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains(".tmp-")
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn secrets_are_masked_unless_the_user_turns_it_off() {
    let home = SessionHome::new();
    let secret = format!("sk-{}", "q".repeat(40));
    home.talk("a", "cli", &[&format!("use {secret}"), "https://x/y"]);
    let outcome = home.sessions(&["export", "-"]);
    outcome
        .succeeds()
        .never_shows(&secret)
        .prints_part("https://x/y");
    home.sessions(&["export", "-", "--no-redact"])
        .succeeds()
        .prints_part(&secret);
}

#[test]
fn an_export_has_the_wanted_format() {
    let home = SessionHome::new();
    home.talk("a1", "cli", &["look at <b> & ```", "second"]);
    let export = |format: &str| {
        let outcome = home.sessions(&["export", "-", "--format", format]);
        outcome.succeeds().stdout.clone()
    };
    let markdown = export("md");
    assert!(markdown.starts_with("# a1\n\n- Session: `a1`\n- Source: `cli`\n"));
    assert!(markdown.contains("look at <b> & ```\n"), "{markdown}");
    assert!(markdown.contains("Calls `terminal`:\n\n```\n{}\n```\n"));
    assert!(
        markdown.contains("````\ndid look at <b> & ```\n````\n"),
        "{markdown}"
    );
    let page = export("html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(
        page.contains("<pre>look at &lt;b&gt; &amp; ```</pre>"),
        "{page}"
    );
    let trace = lines(&export("trace"));
    assert_eq!(trace.len(), 6);
    assert_eq!(trace[0]["parentUuid"], Value::Null);
    assert_eq!(trace[1]["parentUuid"], trace[0]["uuid"]);
    assert_eq!(trace[1]["message"]["content"][0]["type"], "tool_use");
    assert_eq!(trace[2]["message"]["content"][0]["type"], "tool_result");
    assert_eq!(lines(&export("jsonl")).len(), 1);
    assert_eq!(trace, lines(&export("trace")), "the same each time");
    home.sessions(&["export", "-", "--format", "pdf"]).exits(2);
}

#[test]
fn only_the_prompts_of_the_user_can_be_exported() {
    let home = SessionHome::new();
    home.talk("a1", "cli", &["first", "second"]);
    let prompts = home.sessions(&["export", "-", "--only", "user-prompts", "--redact"]);
    let prompts = lines(&prompts.succeeds().stdout);
    let texts: Vec<&Value> = prompts.iter().map(|prompt| &prompt["text"]).collect();
    assert_eq!(texts, [&json!("first"), &json!("second")]);
    assert_eq!(prompts[1]["index"], 2);
    let markdown = home.sessions(&["export", "-", "--only", "user-prompts", "--format", "md"]);
    markdown.succeeds().prints_part("\n\nsecond\n");
    assert!(!markdown.stdout.contains("did first"), "{markdown}");
    home.sessions(&["export", "-", "--only", "user-prompts", "--format", "html"])
        .exits(2);
}
