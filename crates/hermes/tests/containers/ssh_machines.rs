//! Another machine: shared connections, files that go along, and trouble on the way.

use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Somewhere, clients_of, eventually, signal, text};
use crate::ssh_place::SshPlace;

/// Calls of the client that carry an archive to the other machine.
fn uploads(place: &SshPlace) -> usize {
    let calls = place.server.client_calls();
    let is_upload = |call: &&Vec<String>| call.iter().any(|word| word.contains("sync-in"));
    calls.iter().filter(is_upload).count()
}

/// Whether a process with this in its command line runs on this machine, which is the other one, too.
fn runs(part: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().any(|entry| {
        let path = entry.unwrap().path().join("cmdline");
        let line = std::fs::read(path).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.trim() == part
    })
}

#[test]
fn exec_takes_the_backend_and_passes_everything_on() {
    let place = SshPlace::new();
    let run = |args: &[&str]| place.hermes(&[&["exec"], args].concat()).run();
    run(&["--", "echo out; echo err >&2; exit 3"])
        .exits(3)
        .prints("out\nerr\n");
    let home = place.server.remote_home().display().to_string();
    run(&["--", "pwd; echo $HOME"])
        .succeeds()
        .prints(&format!("{home}\n{home}\n"));
    run(&["--workdir", "~", "--", "pwd"])
        .succeeds()
        .prints(&format!("{home}\n"));
    run(&["--timeout", "1", "--", "sleep 60"]).exits(124);
    // The flag beats the setting.
    let here = place.home.outside("work").canonicalize().unwrap();
    let here = format!("{}\n", here.display());
    run(&["--backend", "local", "--", "pwd"])
        .succeeds()
        .prints(&here);
    place.configure(json!({"backend": "local"}));
    run(&["--backend", "ssh", "--", "pwd"])
        .succeeds()
        .prints(&format!("{home}\n"));
}

#[test]
fn a_sibling_that_ends_leaves_the_connection_and_what_runs_over_it() {
    // check 39
    let place = SshPlace::new();
    let mut sibling = place.talk();
    sibling.output("export OWN=mine");
    let go = place.server.remote_home().join("go");
    let command = "echo first; touch ~/at-work; while [ ! -e ~/go ]; do sleep 0.1; done; echo last";
    sibling.send("main", "terminal", &json!({ "command": command }));
    eventually("it is at work", || {
        place.server.remote_home().join("at-work").exists()
    });
    place.hermes(&["exec", "--", "true"]).run().succeeds();
    for sent in [Signal::TERM, Signal::INT, Signal::KILL] {
        let mut other = place.talk();
        other.output("true");
        signal(&other.hermes, sent);
        other.hermes.wait();
    }
    std::fs::write(go, "").unwrap();
    let result = sibling.answer();
    assert_eq!(result["output"], "first\nlast", "{result}");
    assert_eq!(sibling.output("echo $OWN"), "mine");
    // One login for all of them.
    assert_eq!(place.server.logins(), 1);
    assert_eq!(sibling.end(), Some(0));
}

#[test]
fn a_timeout_and_a_signal_reach_every_process_there() {
    let place = SshPlace::new();
    place.configure(json!({"foreground_guard": false}));
    // Names that no other test uses: all tests share this machine.
    let unique = 700_000 + std::process::id();
    let command = format!("sleep {unique}1 & setsid sleep {unique}2 & touch ~/begun; wait");
    let is_gone = || !runs(&format!("sleep {unique}1")) && !runs(&format!("sleep {unique}2"));
    let mut talk = place.talk();
    let result = talk.terminal(json!({"command": command, "timeout": 2}));
    assert_eq!(result["exit_code"], 124, "{result}");
    assert!(is_gone());
    std::fs::remove_file(place.server.remote_home().join("begun")).unwrap();
    let mut exec = place.hermes(&["exec", "--", &command]).start();
    eventually("it runs", || {
        place.server.remote_home().join("begun").exists()
    });
    signal(&exec, Signal::INT);
    assert_eq!(exec.wait().code(), Some(130));
    assert!(is_gone());
}

/// A home with a skill and a credential that is declared.
fn furnished() -> SshPlace {
    let place = SshPlace::new();
    place.home.put("skills/mail/SKILL.md", "how to mail");
    place.home.put("google_token.json", "canary-token");
    place.home.put(".env", "SECRET=canary-env\n");
    place.configure(json!({"credential_files": ["google_token.json", ".env", "../outside"]}));
    place
}

fn there(place: &SshPlace, name: &str) -> Option<String> {
    std::fs::read_to_string(place.server.remote_home().join(".hermes").join(name)).ok()
}

#[test]
fn credential_files_of_a_skill_go_along_with_it() {
    let place = SshPlace::new();
    place.home.put(
        "skills/mail/SKILL.md",
        "---\nname: mail\ndescription: Mails\nrequired_credential_files:\n  - path: mail_token.json\n  \
         - .env\n---\nMail.\n",
    );
    place.home.put("mail_token.json", "canary-token");
    place.home.put(".env", "SECRET=canary-env\n");
    let script = "turns:\n  - match: {step: 1}\n    \
         calls: [{tool: terminal, arguments: {command: \"test -s ~/.hermes/mail_token.json && echo carried-along\"}}]\n  \
         - match: {last: carried-along}\n    text: it is there\n  - match: {step: 2}\n    text: it is not there\n";
    place.home.put("script.yaml", script);
    let mut settings: Value = serde_json::from_str(&place.home.read("config.yaml")).unwrap();
    settings["model"] = json!({"provider": "replay", "script": "script.yaml"});
    place.home.put("config.yaml", settings.to_string());
    let ask = |words: &[&str]| {
        let words: Vec<&str> = words.iter().chain(&["-q", "go"]).copied().collect();
        place.hermes(&words).run()
    };
    ask(&["chat", "-Q"])
        .succeeds()
        .prints_part("it is not there");
    assert_eq!(there(&place, "mail_token.json"), None);
    ask(&["chat", "-Q", "-s", "mail"])
        .succeeds()
        .prints_part("it is there");
    assert_eq!(there(&place, ".env"), None);
}

#[test]
fn credential_files_of_a_skill_that_is_looked_at_later_go_along() {
    let place = SshPlace::new();
    place.home.put(
        "skills/mail/SKILL.md",
        "---\nname: mail\ndescription: Mails\nrequired_credential_files:\n  - deep/mail_token.json\n  \
         - .env\n---\nMail.\n",
    );
    place.home.put("deep/mail_token.json", "canary-token");
    place.home.put(".env", "SECRET=canary-env\n");
    let look = "test -s ~/.hermes/deep/mail_token.json && stat -c carried-%a ~/.hermes/deep/mail_token.json \
         || echo nothing-there";
    let script = json!({"turns": [
        {"match": {"step": 1}, "calls": [{"tool": "terminal", "arguments": {"command": look}}]},
        {"match": {"last": "nothing-there"}, "calls": [{"tool": "skill_view", "arguments": {"name": "mail"}}]},
        {"match": {"tool": "skill_view", "last": "'.env' does not go along"},
         "calls": [{"tool": "terminal", "arguments": {"command": look}}]},
        {"match": {"last": "carried-600"}, "text": "it is there now"},
        {"text": "it is not there"},
    ]});
    place.home.put("script.yaml", script.to_string());
    let mut settings: Value = serde_json::from_str(&place.home.read("config.yaml")).unwrap();
    settings["model"] = json!({"provider": "replay", "script": "script.yaml"});
    place.home.put("config.yaml", settings.to_string());
    let run = place.hermes(&["chat", "-Q", "-q", "go"]).run();
    run.succeeds()
        .prints_part("it is there now")
        .never_shows("canary-token");
    assert_eq!(
        there(&place, "deep/mail_token.json").as_deref(),
        Some("canary-token")
    );
    assert_eq!(there(&place, ".env"), None);
}

#[test]
fn files_go_along_once_and_skills_come_back() {
    // check 39
    let place = furnished();
    let mut talk = place.talk();
    assert_eq!(
        talk.output("cat ~/.hermes/skills/mail/SKILL.md"),
        "how to mail"
    );
    assert_eq!(
        there(&place, "google_token.json").as_deref(),
        Some("canary-token")
    );
    assert_eq!(there(&place, ".env"), None);
    let sent = uploads(&place);
    assert!(sent > 0, "{:?}", place.server.client_calls());
    talk.output("echo learned > ~/.hermes/skills/mail/SKILL.md");
    talk.output("echo stolen > ~/.hermes/google_token.json");
    assert_eq!(talk.end(), Some(0));
    assert_eq!(place.home.read("skills/mail/SKILL.md"), "learned\n");
    assert_eq!(place.home.read("google_token.json"), "canary-token");

    // Nothing changed here: nothing is sent.
    place.hermes(&["exec", "--", "true"]).run().succeeds();
    assert_eq!(uploads(&place), sent);
    for call in place.server.client_calls() {
        assert!(!call.concat().contains("canary"), "{call:?}");
    }
}

#[test]
fn file_tools_work_on_the_other_machine() {
    let place = SshPlace::new();
    let mut talk = place.talk();
    let written = talk.call(
        "write_file",
        json!({"path": "~/notes/a.txt", "content": "one\ntwo\n"}),
    );
    assert_eq!(written["error"], Value::Null, "{written}");
    let file = place.server.remote_home().join("notes/a.txt");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n");
    let args = json!({"path": "~/notes/a.txt", "old_string": "two", "new_string": "three"});
    let patched = talk.call("patch", args);
    assert_eq!(patched["error"], Value::Null, "{patched}");
    let read = talk.call("read_file", json!({"path": "~/notes/a.txt"}));
    assert!(text(&read, "content").contains("three"), "{read}");
    let found = talk.call("search_files", json!({"pattern": "thr", "path": "~/notes"}));
    assert!(found.to_string().contains("a.txt"), "{found}");
}

#[test]
fn a_server_that_goes_away_is_told_and_found_again() {
    let mut place = SshPlace::new();
    let mut talk = place.talk();
    talk.output("export KEPT=1");
    talk.send(
        "main",
        "terminal",
        &json!({"command": "touch ~/begun; echo some; sleep 60"}),
    );
    eventually("it runs", || {
        place.server.remote_home().join("begun").exists()
    });
    place.server.stop();
    let result = talk.answer();
    assert_eq!(result["exit_code"], -1, "{result}");
    assert!(
        text(&result, "error").contains("it was not run again"),
        "{result}"
    );
    let result = talk.run("echo not now");
    assert_eq!(result["exit_code"], -1, "{result}");
    assert!(
        text(&result, "error").contains("onnection refused"),
        "{result}"
    );
    place.server.start_again();
    assert_eq!(talk.output("echo $KEPT"), "1");
}

#[test]
fn whatever_is_wrong_with_the_way_there_is_named_and_nothing_runs_here() {
    let place = SshPlace::new();
    let other_key = place.home.put_outside("other-key", "not a key", 0o600);
    let cases = [
        (json!({"ssh_host": ""}), "ssh_host", 1),
        (json!({"ssh_user": ""}), "ssh_user", 1),
        (json!({"ssh_port": 1}), "onnection refused", 3),
        (json!({"ssh_key": other_key}), "ssh_key", 1),
        (
            json!({"ssh_host": "no.such.host.invalid"}),
            "no.such.host.invalid",
            1,
        ),
        (
            json!({"ssh_host": "-oProxyCommand=touch here"}),
            "ssh_host",
            1,
        ),
    ];
    for (settings, part, code) in cases {
        place.configure(settings.clone());
        let outcome = place.hermes(&["exec", "--", "touch here"]).run();
        assert_eq!(outcome.code, Some(code), "{settings}: {outcome}");
        assert!(outcome.stderr.contains(part), "{settings}: {outcome}");
        outcome.prints("");
    }
    assert!(!place.home.outside("work/here").exists());
    assert!(!place.server.remote_home().join("here").exists());
}

#[test]
fn without_the_client_it_says_what_to_install() {
    let place = SshPlace::new();
    let empty = place.home.outside("empty");
    std::fs::create_dir(&empty).unwrap();
    let run = place.hermes(&["exec", "--", "true"]).env("PATH", &empty);
    let outcome = run.run();
    outcome
        .exits(3)
        .prints("")
        .says_part("ssh")
        .says_part("openssh-client");
}

#[test]
fn connections_are_the_users_own_and_closed_by_the_last() {
    let place = SshPlace::new();
    let sockets = || -> Vec<std::path::PathBuf> {
        let entries = walk(&place.home.outside("tmp"));
        let is_socket = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "sock");
        entries.into_iter().filter(is_socket).collect()
    };
    let (mut one, mut other) = (place.talk(), place.talk());
    one.output("true");
    other.output("true");
    assert_eq!(sockets().len(), 1);
    let directory = sockets()[0].parent().unwrap().to_owned();
    let mode = std::fs::metadata(directory).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    assert_eq!(one.end(), Some(0));
    assert_eq!(other.output("echo well"), "well");
    assert!(!clients_of(&other.hermes).is_empty());
    assert_eq!(other.end(), Some(0));
    assert_eq!(sockets(), [] as [std::path::PathBuf; 0]);
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(walk(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn acceptance_checks_run_on_the_machine_of_the_assignee() {
    let place = SshPlace::new();
    let check = "test -n \"$SSH_CONNECTION\"";
    let create = |flags: &[&str]| {
        let args = ["kanban", "create", "x", "--json", "--check", check];
        let made = place.hermes(&[&args, flags].concat()).run();
        text(&made.succeeds().json(), "id").to_owned()
    };
    let id = create(&[]);
    let why = place.hermes(&["kanban", "why", &id]).run();
    why.succeeds()
        .prints_part("Its checks run on the machine that the terminal of its worker uses.");
    place.hermes(&["kanban", "complete", &id]).run().succeeds();
    let here = create(&["--check-on-host"]);
    let refused = place.hermes(&["kanban", "complete", &here]).run();
    refused.exits(1).says_part("ended with exit code 1");
}
