//! `hermes demo`: real workers in a home that is gone afterwards.

use std::fs;
use std::path::PathBuf;

use hermes_testkit::{ModelServer, ProgramCall, ScriptedAnswer, TestHome};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

/// A user, and the directory their temporary things are in.
fn user() -> (TestHome, PathBuf) {
    let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
    let temporary = home.outside("tmp");
    fs::create_dir_all(&temporary).unwrap();
    (home, temporary)
}

fn demo(home: &TestHome, temporary: &std::path::Path, args: &[&str]) -> ProgramCall {
    home.hermes([&["demo"], args].concat())
        .env("TMPDIR", temporary)
}

fn entries(path: &std::path::Path) -> usize {
    fs::read_dir(path).unwrap().count()
}

/// Workers of a demo in this directory that run.
fn workers(temporary: &std::path::Path) -> Vec<u32> {
    hermes_proc::pids_of_user(rustix::process::geteuid().as_raw())
        .into_iter()
        .filter(|pid| {
            hermes_proc::environment_of(*pid).is_some_and(|variables| {
                variables.iter().any(|(name, value)| {
                    name == "HERMES_HOME" && std::path::Path::new(value).starts_with(temporary)
                })
            })
        })
        .collect()
}

#[test]
fn all_cards_are_done_and_nothing_is_left() {
    let (home, temporary) = user();
    // A board of the user's own, to which variables point.
    let own = home.outside("own.db");
    let outcome = demo(&home, &temporary, &[])
        .env("HERMES_KANBAN_DB", &own)
        .env("HERMES_KANBAN_BOARD", "mine")
        .env("TERMINAL_ENV", "docker")
        .run();
    outcome
        .succeeds()
        .prints_part("6 of 6 cards done by 8 worker processes")
        .prints_part("reported it done, but a check failed")
        .prints_part("its worker died; the card is ready again")
        .prints_part("hermes kanban create");
    assert_eq!(entries(&temporary), 0, "{outcome}");
    assert!(!own.exists());
    assert!(!home.root().exists(), "the user's home is not touched");
    assert!(!home.user_home().join(".cache").exists());
    assert_eq!(workers(&temporary), [] as [u32; 0]);
}

#[test]
fn what_it_made_can_be_kept() {
    let (home, temporary) = user();
    demo(&home, &temporary, &["--keep"]).run().succeeds();
    let kept = fs::read_dir(&temporary)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    for name in ["count.sh", "test.sh", "README.md", "release.tar"] {
        assert!(kept.join("project").join(name).exists(), "{name}");
    }
    let listed = home
        .hermes(["kanban", "list", "--json"])
        .env("HERMES_HOME", kept.join("home"))
        .run()
        .succeeds()
        .json();
    let done = listed.as_array().unwrap().iter();
    assert_eq!(done.filter(|card| card["status"] == "done").count(), 6);
}

#[test]
fn a_signal_ends_the_workers_too() {
    let (home, temporary) = user();
    let mut running = demo(&home, &temporary, &[]).start();
    loop {
        let line = running.next_line().expect("it starts workers");
        if line.contains("starts") {
            break;
        }
    }
    assert_ne!(workers(&temporary), [] as [u32; 0]);
    let pid = Pid::from_raw(running.pid().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(running.wait().code(), Some(143));
    assert_eq!(workers(&temporary), [] as [u32; 0]);
    assert_eq!(entries(&temporary), 0);
}

#[test]
fn another_script_is_played_and_a_lie_is_found_out() {
    let (home, temporary) = user();
    let script = r#"
title: A lie
profiles: {liar: Says that it is done}
cards:
  - {key: only, title: Make a file, assignee: liar, checks: ["test -e file"]}
turns:
  - match: {user: "/task (?<id>t_[0-9a-f]+)/", step: 1}
    calls: [{tool: kanban_complete, arguments: {summary: made it}}]
  - text: Good bye.
"#;
    let file = home.put_outside("script.yaml", script, 0o600);
    let outcome = demo(&home, &temporary, &["--script", file.to_str().unwrap()]).run();
    outcome
        .exits(1)
        .prints_part("A lie: 1 cards, 1 agents")
        .prints_part("0 of 1 cards done by 3 worker processes");
    assert_eq!(entries(&temporary), 0, "{outcome}");
}

#[test]
fn a_bad_script_is_named_and_nothing_is_made() {
    let (home, temporary) = user();
    let missing = home.outside("missing.yaml");
    let shown = missing.to_str().unwrap();
    demo(&home, &temporary, &["--script", shown]).run().refuses(
        1,
        &format!("could not open {shown}: no such file or directory"),
    );
    let text =
        "title: x\nprofiles: {a: b}\ncards: [{key: k, title: t, assignee: a}]\nturns:\n- txt: x\n";
    let file = home.put_outside("bad.yaml", text, 0o600);
    let outcome = demo(&home, &temporary, &["--script", file.to_str().unwrap()]).run();
    outcome
        .exits(1)
        .prints("")
        .says_part("line 5")
        .says_part("bad.yaml");
    assert_eq!(entries(&temporary), 0);
}

/// A model that writes the test of its card, completes the card and says so.
fn model() -> ModelServer {
    ModelServer::start_with(|request| {
        let messages = request.body["messages"].as_array().unwrap();
        let answers = messages.iter().filter(|one| one["role"] == "tool").count();
        match answers {
            0 => ScriptedAnswer::call(
                "write_file",
                &json!({"path": "test.sh", "content": "exit 0\n"}),
            ),
            1 => ScriptedAnswer::call("kanban_complete", &json!({"summary": "counted"})),
            _ => ScriptedAnswer::text("Done."),
        }
    })
}

#[test]
fn the_recipe_at_the_end_works_as_printed() {
    let (home, temporary) = user();
    let shown = demo(&home, &temporary, &[]).run();
    let recipe = shown.succeeds().stdout.split_once("To use a real one:\n");
    let lines: Vec<&str> = recipe.unwrap().1.lines().map(str::trim).collect();
    assert_eq!(lines.len(), 6, "{lines:?}");
    let server = model();
    let programs = home.program().parent().unwrap().to_owned();
    let call = |line: &str| {
        // The key is the one thing to fill in.
        let line = line.replace("YOUR-KEY", "sk-or-v1-0123456789abcdef");
        home.hermes(["-c", &line])
            .program("/bin/sh")
            .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
            // OpenRouter, as far as this machine is concerned.
            .env("OPENROUTER_BASE_URL", server.base_url())
    };
    let (daemon, steps) = lines.split_last().unwrap();
    for step in steps {
        let outcome = call(step).run();
        outcome.succeeds();
        assert!(!outcome.stderr.contains("cannot"), "{step}: {outcome}");
    }
    let daemon = call(&format!("exec {daemon}")).start();
    loop {
        let line = daemon.next_line().expect("the card is completed");
        assert!(
            !line.contains("crashed") && !line.contains("gave_up"),
            "{line}"
        );
        if line.contains(" completed ") {
            break;
        }
    }
    let keys: Vec<_> = server.questions();
    assert!(keys.iter().all(|request| {
        request.header("authorization") == Some("Bearer sk-or-v1-0123456789abcdef")
    }));
    let pid = Pid::from_raw(daemon.pid().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    hermes_testkit::eventually("workers leave", || workers(&home.root()).is_empty());
}
