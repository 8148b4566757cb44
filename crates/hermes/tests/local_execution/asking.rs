//! Somebody at the terminal: what is asked, what each answer does, and when nobody is asked.

use hermes_testkit::AtTerminal;
use pretty_assertions::assert_eq;

use hermes_testkit::eventually;

use super::{Place, is_alive};

const QUESTION: &str = "[o]nce, [s]ession, [a]lways, [d]eny (default after 60 s: deny): ";
const DELETE: &str = "rm -rf ./x && echo deleted";

/// A place with a directory that a flagged command would delete.
fn with_victim(config: &str) -> Place {
    let place = Place::with_config(config);
    std::fs::create_dir(place.work("x")).unwrap();
    place
}

impl Place {
    fn at_terminal(&self, args: &[&str]) -> AtTerminal {
        self.hermes(args).start_at_terminal()
    }
}

/// Answers the question about a deletion with these keys; whether the directory is gone.
#[track_caller]
fn answered(place: &Place, keys: &str, code: i32) -> bool {
    let mut hermes = place.at_terminal(&["exec", "--", DELETE]);
    hermes.wait_for("    rm -rf ./x && echo deleted\r\n\r\nReason: recursive delete\r\n");
    hermes.wait_for(QUESTION);
    hermes.press(keys);
    let outcome = hermes.wait();
    outcome.exits(code);
    let last = outcome.stdout.lines().last();
    assert_eq!(last == Some("deleted"), code == 0, "{outcome}");
    !place.work("x").exists()
}

#[test]
fn a_yes_runs_the_command_and_anything_else_does_not() {
    // check 34
    assert!(answered(&with_victim(""), "o\r", 0));
    assert!(answered(&with_victim(""), " Session \r", 0));
    for keys in ["d\r", "\r", "yes\r", "x\r", "\u{4}"] {
        let place = with_victim("");
        assert!(!answered(&place, keys, 1), "{keys:?}");
        assert_eq!(place.home.read("config.yaml"), "");
    }
}

#[test]
fn ctrl_c_at_the_question_is_a_no_and_ends_the_program() {
    // check 17, 34
    assert!(!answered(&with_victim(""), "\u{3}", 130));
}

#[test]
fn silence_is_a_no() {
    // check 34
    let place = with_victim("approvals: {timeout: 1}\n");
    let hermes = place.at_terminal(&["exec", "--", DELETE]);
    hermes.wait_for("(default after 1 s: deny): ");
    hermes.wait().exits(1);
    assert!(place.work("x").exists());
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    // check 34
    let place = with_victim("");
    // The login shell takes its time before anything is asked about.
    let mut hermes = place.at_terminal(&["exec", "--", DELETE]);
    hermes.press("o\r");
    hermes.wait_for(QUESTION);
    hermes.press("d\r");
    hermes.wait().exits(1);
    assert!(place.work("x").exists());
}

#[test]
fn always_is_one_line_in_the_settings_and_counts_elsewhere() {
    // check 34
    let config = "# mine\napprovals:\n  timeout: 60 # long\nterminal: {timeout: 99}\n";
    let place = with_victim(config);
    assert!(answered(&place, "a\r", 0));
    let kept = place.home.read("config.yaml");
    assert_eq!(
        kept,
        format!("{config}command_allowlist: [recursive delete]\n")
    );
    // Another program runs it without a question, with somebody there and without.
    for unattended in [false, true] {
        std::fs::create_dir(place.work("x")).unwrap();
        if unattended {
            place.hermes(&["exec", "--", DELETE]).run().succeeds();
        } else {
            let outcome = place.at_terminal(&["exec", "--", DELETE]).wait();
            outcome.succeeds().prints("deleted\n");
        }
        assert!(!place.work("x").exists());
    }
    assert_eq!(place.home.read("config.yaml"), kept);
}

#[test]
fn two_who_say_always_at_once_lose_nothing() {
    // check 34
    let place = with_victim("# mine\n");
    let commands = [DELETE, "chmod 777 victim", "git reset --hard"];
    let mut programs = Vec::new();
    for command in commands {
        let hermes = place.at_terminal(&["exec", "--", command]);
        hermes.wait_for(QUESTION);
        programs.push(hermes);
    }
    for hermes in &mut programs {
        hermes.press("a\r");
    }
    for hermes in programs {
        drop(hermes.wait());
    }
    let kept = place.home.read("config.yaml");
    assert!(kept.starts_with("# mine\ncommand_allowlist: ["), "{kept}");
    for key in [
        "recursive delete",
        "world/other-writable permissions",
        "git reset --hard (destroys uncommitted changes)",
    ] {
        assert_eq!(kept.matches(key).count(), 1, "{key}: {kept}");
    }
}

#[test]
fn a_tool_call_asks_and_its_result_says_who_approved() {
    // check 34
    let place = with_victim("");
    let call = format!(r#"{{"command": "{DELETE}"}}"#);
    let mut hermes = place.at_terminal(&["tools", "call", "terminal", &call]);
    hermes.wait_for(QUESTION);
    hermes.press("o\r");
    let outcome = hermes.wait();
    let line = outcome.succeeds().stdout.lines().last().unwrap();
    let result: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(result["approval"], "Approved by the user: recursive delete");
    assert_eq!(result["output"], "deleted");
}

#[test]
fn a_script_asks_once_for_itself_and_for_each_flagged_command() {
    // check 34
    let place = with_victim("");
    let code = format!(
        "from hermes_tools import \
         terminal\nprint(terminal('{DELETE}')['exit_code'])\nprint(terminal('echo \
         harmless')['output'])"
    );
    let call = serde_json::json!({ "code": code }).to_string();
    let mut hermes = place.at_terminal(&["tools", "call", "execute_code", &call]);
    hermes.wait_for("Reason: execute_code\r\n");
    hermes.wait_for(QUESTION);
    hermes.press("o\r");
    hermes.wait_for("Reason: recursive delete\r\n");
    hermes.wait_for(QUESTION);
    hermes.press("d\r");
    let outcome = hermes.wait();
    outcome
        .succeeds()
        .prints_part(r#""output":"-1\nharmless\n""#);
    assert!(place.work("x").exists());
    // A script that is not approved does not begin.
    let mut hermes = place.at_terminal(&["tools", "call", "execute_code", &call]);
    hermes.wait_for(QUESTION);
    hermes.press("d\r");
    let outcome = hermes.wait();
    outcome.exits(1);
    assert!(!outcome.stdout.contains("harmless\\n"), "{outcome}");
}

#[test]
fn nobody_is_asked_without_a_terminal_on_both_sides() {
    // check 33, 34
    let place = with_victim("");
    let program = place.home.program().display().to_string();
    for (script, asks) in [
        ("exec \"$HERMES\" exec -- \"$DELETE\" 2> errors", false),
        ("exec \"$HERMES\" exec -- \"$DELETE\" < /dev/null", false),
        ("exec \"$HERMES\" exec -- \"$DELETE\" > output", true),
    ] {
        let mut shell = place
            .hermes(&["-c", script])
            .program("/bin/sh")
            .env("HERMES", &program)
            .env("DELETE", DELETE)
            .start_at_terminal();
        if asks {
            shell.wait_for(QUESTION);
            shell.press("d\r");
        }
        let outcome = shell.wait();
        outcome.exits(1);
        assert_eq!(outcome.stdout.contains("deny"), asks, "{outcome}");
        assert!(place.work("x").exists());
    }
    // Lines are a program's way to talk, whoever types them; a check asks nobody either.
    let call = format!(r#"{{"command": "{DELETE}"}}"#);
    let outcome = place
        .at_terminal(&["tools", "call", "--check", "terminal", &call])
        .wait();
    outcome.exits(1).prints_part("\"approved\":false");
    let mut lines = place.at_terminal(&["tools", "call", "--stdin"]);
    lines.press(&format!("{{\"tool\": \"terminal\", \"args\": {call}}}\r"));
    lines.wait_for("\"status\":\"blocked\"");
    lines.press("\u{4}");
    let outcome = lines.wait();
    assert!(!outcome.succeeds().stdout.contains("[d]eny"), "{outcome}");
    assert!(place.work("x").exists());
}

#[test]
fn a_program_in_the_background_of_a_shell_is_denied_at_once() {
    // check 34
    let place = with_victim("");
    let script = "set -m; \"$HERMES\" exec -- \"$DELETE\" & wait $!; echo code $?";
    let shell = place
        .hermes(&["-c", script])
        .program("/bin/bash")
        .env("HERMES", place.home.program())
        .env("DELETE", DELETE)
        .start_at_terminal();
    let outcome = shell.wait();
    outcome.prints_part("code 1\n");
    assert!(place.work("x").exists());
}

#[test]
fn what_never_runs_is_not_even_asked_about() {
    // check 30
    let place = Place::new();
    let call = r#"{"command": "true && (reboot)"}"#;
    // Asked as a check: nothing of this list is ever run by a test.
    let outcome = place
        .at_terminal(&["tools", "call", "--check", "terminal", call])
        .wait();
    outcome.exits(1).prints_part("BLOCKED (hardline)");
}

#[test]
fn ctrl_c_ends_the_command_with_all_it_started() {
    // check 17
    let place = Place::with_config("terminal: {foreground_guard: false}\n");
    let command = "echo begun; sleep 60 & echo $! > child; echo $$ > shell; wait";
    let mut hermes = place.at_terminal(&["exec", "--", command]);
    let pid_in = |name: &str| std::fs::read_to_string(place.work(name)).unwrap_or_default();
    eventually("it runs", || pid_in("shell").ends_with('\n'));
    hermes.press("\u{3}");
    let outcome = hermes.wait();
    outcome
        .exits(130)
        .prints_part("begun\n[Command interrupted]\n");
    for name in ["child", "shell"] {
        assert!(!is_alive(&pid_in(name)), "{name} lives");
    }
}
