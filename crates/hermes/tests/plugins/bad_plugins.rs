//! Plugins that do everything wrong: the conversation goes on, and the list says what is wrong.

use pretty_assertions::assert_eq;

use crate::{Desk, calling};

// check 32
#[test]
fn python_code_for_the_inside_is_listed_with_the_reason_and_chat_works() {
    let desk = Desk::new("plugins: {enabled: [inside]}\n");
    desk.home
        .put("plugins/inside/plugin.yaml", "name: inside\nversion: '3'\n");
    let code = "from hermes_cli.plugins import x\nopen('/tmp/hermes-plugin-ran', 'w')\nraise RuntimeError('no')\n";
    desk.home.put("plugins/inside/__init__.py", code);
    let listed = desk.list();
    assert_eq!(listed[0]["name"], "inside");
    assert_eq!(listed[0]["status"], "enabled");
    let error = listed[0]["error"].as_str().unwrap();
    assert!(error.contains("Python code"), "{error}");
    let run = desk.chat(&calling("echo fine", "fine"));
    run.succeeds().prints_part("as expected");
    run.says_part("plugin 'inside': it is Python code");
    let refused = desk.run(&["plugins", "enable", "inside"]);
    refused
        .exits(1)
        .says_part("cannot be enabled: it is Python code");
    let doctor = desk.run(&["doctor"]);
    assert!(
        doctor.stdout.contains("inside: it is Python code"),
        "{doctor:?}"
    );
}

#[test]
fn broken_manifests_are_listed_with_their_error_and_hurt_nobody() {
    let desk = Desk::new("plugins: {enabled: [a, b, c, d, e, good]}\n");
    for (name, manifest) in [
        ("a", b"\x00\xff\xfe{{{".to_vec()),
        ("b", b"name: ../../evil\n".to_vec()),
        ("c", vec![b'#'; 200_000]),
        ("d", b"runtime: mcp\ncommand: rm -rf /\n".to_vec()),
        ("e", b"manifest_version: 99\n".to_vec()),
        ("good", b"description: fine\n".to_vec()),
    ] {
        desk.home
            .put(&format!("plugins/{name}/plugin.yaml"), manifest);
    }
    let listed = desk.list();
    let errors: Vec<(&str, bool)> = listed
        .iter()
        .map(|one| (one["key"].as_str().unwrap(), one["error"].is_string()))
        .collect();
    let expected = [
        ("a", true),
        ("b", true),
        ("c", true),
        ("d", true),
        ("e", true),
        ("good", false),
    ];
    assert_eq!(errors, expected);
    desk.chat(&calling("echo fine", "fine"))
        .succeeds()
        .prints_part("as expected");
}

#[test]
fn hooks_that_fail_flood_or_do_not_exist_have_no_opinion() {
    for script in [
        "exit 1",
        "kill -9 $$",
        "yes",
        "echo '[1,2'",
        "exec 0<&-; exit 0",
    ] {
        let desk = Desk::new("plugins: {enabled: [bad]}\n");
        desk.put_script("bad", script, "pre_tool_call, pre_llm_call, on_session_end");
        desk.chat(&calling("echo fine", "fine"))
            .succeeds()
            .prints_part("as expected");
        desk.settings("plugins: {enabled: [bad], entries: {bad: {fail_closed: true}}}\n");
        let run = desk.chat(&calling("echo fine", "must agree to it"));
        let is_blocked = run.succeeds().stdout.contains("as expected");
        assert_eq!(
            is_blocked,
            script != "exec 0<&-; exit 0",
            "{script}: {run:?}"
        );
    }
    let desk = Desk::new("plugins: {enabled: [gone], entries: {gone: {fail_closed: true}}}\n");
    desk.home.put(
        "plugins/gone/plugin.yaml",
        "runtime: exec\ncommand: [./absent]\nprovides_hooks: [pre_tool_call, pre_verify]\n",
    );
    let run = desk.chat(&calling("echo fine", "must agree to it"));
    run.succeeds().prints_part("as expected");
    run.says_part("its hook 'pre_verify' is no event here");
}

#[test]
fn a_server_that_crashes_or_never_answers_is_told_and_left_out() {
    for word in ["crash", "slow-start"] {
        let desk = Desk::new("plugins: {enabled: [bad]}\n");
        desk.put_server("bad", &[word], "provides_hooks: [post_tool_call]\n");
        let run = desk.chat(&calling("echo fine", "fine"));
        run.succeeds().prints_part("as expected");
        run.says_part("plugin 'bad' has no tools now");
    }
    let desk = Desk::new("plugins: {enabled: [bad]}\n");
    desk.put_server("bad", &["die-in-hook"], "provides_hooks: [pre_tool_call]\n");
    desk.chat(&calling("echo fine", "fine"))
        .succeeds()
        .prints_part("as expected");
}

#[test]
fn settings_of_the_wrong_kind_are_told_and_grant_nothing() {
    let desk = Desk::new(
        "plugins: {enabled: notes, disabled: {a: 1}, entries: [x]}\nterminal: {timeout: 60}\n",
    );
    desk.put_server("notes", &["terminal"], "");
    assert_eq!(desk.list()[0]["status"], "not enabled");
    desk.settings(
        "plugins: {enabled: [notes, 7], entries: {notes: {allow_tool_override: 'yes'}}}\n",
    );
    let run = desk.chat(&calling("echo real", "real"));
    run.succeeds().prints_part("as expected");
    run.says_part("allow_tool_override must be true or false");
}
