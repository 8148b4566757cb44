//! A conversation line by line: what is read, what Ctrl-C does, and the commands with a slash.

use std::time::Duration;

use hermes_testkit::{ModelServer, ProgramOutput, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::{World, messages, session_of};

fn talk(world: &World, lines: &str) -> ProgramOutput {
    world.hermes(&["chat", "-Q"]).stdin(lines).run()
}

fn said(body: &Value) -> Vec<String> {
    let all = messages(body).into_iter();
    let person = all.filter(|message| message["role"] == "user");
    person
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn lines_of_a_pipe_are_answered_one_by_one_to_the_end() {
    let slow = |text: &str| ScriptedAnswer::text(text).after(Duration::from_millis(200));
    let world = World::answering([slow("one"), slow("two")]);
    let outcome = talk(&world, "first\n\n  second  ");
    outcome.succeeds().prints("one\ntwo\n");
    assert_eq!(said(&world.bodies()[1]), ["first", "second"]);
}

#[test]
fn undone_messages_stay_in_the_store_inactive() {
    // check 29
    let world = World::answering(["one", "two", "three"].map(ScriptedAnswer::text));
    let outcome = talk(&world, "first\nsecond\n/undo\n");
    outcome
        .succeeds()
        .prints("one\ntwo\n")
        .says_part("Undone: second");
    let session = session_of(&outcome);
    let again = world
        .hermes(&["chat", "-Q", "-q", "third", "-r", &session])
        .run();
    again.succeeds().prints("three\n");
    assert_eq!(said(world.bodies().last().unwrap()), ["first", "third"]);
    let stored = world.stored(&session);
    let active = |text: &str| {
        let row = stored.iter().find(|row| row["content"] == text).unwrap();
        row["active"].as_i64().unwrap_or(1)
    };
    assert_eq!(
        (active("first"), active("second"), active("two")),
        (1, 0, 0)
    );
}

#[test]
fn failed_turn_can_be_undone_and_retried() {
    // check 29
    let refused = ScriptedAnswer::status(403, &json!({"error": {"message": "not allowed"}}));
    let world = World::answering([
        refused,
        ScriptedAnswer::text("one"),
        ScriptedAnswer::text("again"),
        ScriptedAnswer::text("last"),
    ]);
    let outcome = talk(&world, "first\nsecond\n/retry\n/undo 2\nthird\n");
    outcome.succeeds().prints("one\nagain\nlast\n");
    let bodies = world.bodies();
    assert_eq!(said(&bodies[1]), ["first\n\nsecond"]);
    assert_eq!(said(&bodies[2]), ["first\n\nsecond"]);
    assert_eq!(said(&bodies[3]), ["third"]);
}

#[test]
fn new_session_is_empty_and_ends_the_old_one() {
    let world = World::answering(["one", "two"].map(ScriptedAnswer::text));
    let outcome = talk(&world, "first\n/title before\n/new after\nsecond\n/title\n");
    outcome
        .succeeds()
        .prints("one\ntwo\n")
        .says_part("Title: before")
        .says_part("Title: after");
    let bodies = world.bodies();
    assert_eq!(said(&bodies[1]), ["second"]);
    assert_eq!(bodies[0]["messages"][0], bodies[1]["messages"][0]);
    let export = |name: &str| {
        let found = world.home.run(["sessions", "list", "--json"]);
        let rows = found.succeeds().json();
        let rows = rows.as_array().unwrap().clone();
        let row = rows.into_iter().find(|row| row["title"] == name).unwrap();
        let id = row["id"].as_str().unwrap().to_owned();
        let session = world
            .home
            .run(["sessions", "export", "-", "--session-id", &id]);
        session.succeeds().json()
    };
    assert_eq!(export("before")["end_reason"], "new_session");
    assert_eq!(export("after")["end_reason"], "agent_close");
    assert_eq!(export("after")["id"], session_of(&outcome));
}

#[test]
fn model_change_applies_to_this_session_only() {
    let world = World::answering(["one", "two", "three"].map(ScriptedAnswer::text));
    world.configure(
        "context_length: 200000",
        "model_aliases: {quick: {model: small-one}}",
    );
    let outcome = talk(
        &world,
        "first\n/model quick\nsecond\n/model x --provider nosuch\nthird\n/model\n",
    );
    outcome
        .exits(0)
        .prints("one\ntwo\nthree\n")
        .says_part("Now using small-one from custom")
        .says_part("no such provider: `nosuch`");
    let models: Vec<Value> = world
        .bodies()
        .iter()
        .map(|body| body["model"].clone())
        .collect();
    assert_eq!(models, ["test-model", "small-one", "small-one"]);
    assert!(
        world
            .home
            .read("config.yaml")
            .contains("default: test-model")
    );
}

#[test]
fn slash_commands_show_usage_status_tools_and_history() {
    let usage = json!({"prompt_tokens": 1200, "completion_tokens": 30, "total_tokens": 1230});
    let world = World::answering([ScriptedAnswer::text("one").usage(&usage)]);
    let outcome = talk(
        &world,
        "/usage\n/history\nfirst\n/usage\n/status\n/tools\n/history\n/help\n/yolo\n/yolo\n",
    );
    outcome.succeeds().prints("one\n");
    for part in [
        "There are no requests yet.",
        "There are no messages yet.",
        "  Input        1200\n",
        "  Output       30\n",
        "  Requests     1\n",
        "of 200000 (",
        "  Provider   custom\n",
        "  Approvals  on\n",
        "  terminal\n",
        "  user      first\n",
        "  assistant one\n",
        "/undo [N]",
        "run without approval",
        "need approval again",
    ] {
        outcome.says_part(part);
    }
}

#[test]
fn risky_commands_run_without_approval_after_yolo() {
    let call = json!({"command": "rm -rf ./heap"});
    let world = World::configured(
        ModelServer::start([
            ScriptedAnswer::call("terminal", &call),
            ScriptedAnswer::text("kept"),
            ScriptedAnswer::call("terminal", &call),
            ScriptedAnswer::text("gone"),
        ]),
        "approvals: {mode: manual}\n",
    );
    let heap = world.home.user_home().join("heap");
    std::fs::create_dir(&heap).unwrap();
    let mut running = world.hermes(&["chat"]).start_at_terminal();
    running.wait_for("> ");
    running.press("go\r");
    running.wait_for("[d]eny");
    running.press("d\r");
    running.wait_for("kept");
    running.wait_for("> ");
    assert!(heap.exists());
    running.press("/yolo\r");
    running.wait_for("run without approval");
    running.wait_for("> ");
    running.press("go\r");
    running.wait_for("gone");
    running.wait_for("> ");
    running.press("\u{4}");
    running.wait().exits(0);
    assert!(!heap.exists());
}

#[test]
fn unknown_command_suggests_the_nearest_and_paths_are_messages() {
    let world = World::answering([ScriptedAnswer::text("one")]);
    let outcome = talk(&world, "/undp\n/undo x\n/etc/hosts is wrong\n");
    outcome
        .prints("one\n")
        .says_part("Error: unknown command: /undp\nhint: did you mean /undo?\n")
        .says_part("'x' is not a number");
    assert_eq!(said(&world.bodies()[0]), ["/etc/hosts is wrong"]);
    let alone = talk(&world, "/nosuchthingatall\n");
    alone.exits(1).prints("").says_part("/help lists");
}

#[test]
fn compress_shortens_the_conversation() {
    let world = World::with(ModelServer::start_with(|request| {
        if crate::world::is_summary_request(request) {
            ScriptedAnswer::text("the gist")
        } else {
            ScriptedAnswer::text("fine")
        }
    }));
    let mut lines = "/compress\n".to_owned();
    for number in 0..8 {
        lines.push_str(&format!("question {number} {}\n", "word ".repeat(300)));
    }
    lines.push_str("/compress the colours\nlast\n");
    let outcome = talk(&world, &lines);
    outcome
        .succeeds()
        .says_part("too few messages")
        .says_part("The conversation was compacted");
    let summary = world
        .server
        .questions()
        .into_iter()
        .find(crate::world::is_summary_request)
        .unwrap();
    assert!(summary.contains("Keep everything about: the colours"));
    let last = world.bodies().pop().unwrap();
    assert!(last.to_string().contains("the gist"), "{last}");
    assert!(!last.to_string().contains("question 3"), "{last}");
}

#[test]
fn quit_delete_removes_the_session() {
    let world = World::answering(["one", "two"].map(ScriptedAnswer::text));
    talk(&world, "first\n/quit --delete\nnever\n").succeeds();
    let listed = world.home.run(["sessions", "list", "--json"]);
    assert_eq!(listed.succeeds().json(), json!([]));
    talk(&world, "second\n/quit\nnever\n")
        .succeeds()
        .prints("two\n");
    assert_eq!(world.bodies().len(), 2);
}

#[test]
fn the_first_ctrl_c_ends_the_turn_and_the_second_the_program() {
    let slow = ScriptedAnswer::text("late").after(Duration::from_mins(1));
    let world = World::answering([slow.clone(), ScriptedAnswer::text("quick"), slow]);
    let mut running = world.hermes(&["chat"]).start_at_terminal();
    running.wait_for("> ");
    running.press("first\r");
    world.server.wait_for_questions(1);
    running.press("\u{3}");
    running.wait_for("Interrupted.");
    running.wait_for("> ");
    running.press("second\r");
    running.wait_for("quick");
    running.wait_for("> ");
    running.press("third\r");
    world.server.wait_for_questions(3);
    running.press("\u{3}");
    running.wait_for("Interrupted.");
    running.wait_for("> ");
    running.press("\u{3}");
    let outcome = running.wait();
    outcome.exits(130);
    assert!(!outcome.stdout.contains("panicked"), "{outcome}");
}

#[test]
fn at_the_prompt_the_first_ctrl_c_warns() {
    let world = World::answering([ScriptedAnswer::text("one")]);
    let mut running = world.hermes(&["chat"]).start_at_terminal();
    running.wait_for("> ");
    running.press("\u{3}");
    running.wait_for("again to exit");
    running.press("hello\r");
    running.wait_for("one");
    running.wait_for("> ");
    running.press("\u{3}");
    running.wait_for("again to exit");
    running.press("\u{3}");
    running.wait().exits(130);
}

#[test]
fn undo_asks_for_confirmation_at_a_terminal() {
    let world = World::answering(["one", "two"].map(ScriptedAnswer::text));
    let mut running = world.hermes(&["chat"]).start_at_terminal();
    running.wait_for("> ");
    running.press("first\r");
    running.wait_for("one");
    running.wait_for("> ");
    running.press("/undo\r");
    running.wait_for("[y/N] ");
    running.press("n\r");
    running.wait_for("Nothing was undone.");
    running.wait_for("> ");
    running.press("/undo\r");
    running.wait_for("[y/N] ");
    running.press("y\r");
    running.wait_for("Undone: first");
    running.wait_for("> ");
    running.press("\u{4}");
    running.wait().exits(0);
}

#[test]
fn yolo_ends_with_its_session() {
    let world = World::answering([ScriptedAnswer::text("one")]);
    let outcome = talk(&world, "first\n/yolo\n/status\n/new\n/status\n");
    outcome
        .succeeds()
        .says_part("Risky commands now run without approval in this session.");
    let approvals: Vec<&str> = outcome
        .stderr
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Approvals"))
        .map(str::trim)
        .collect();
    assert_eq!(approvals, ["off", "on"]);
    // What the program was started with holds for all its sessions.
    let started = world
        .hermes(&["chat", "-Q", "--yolo"])
        .stdin("/new\n/status\n")
        .run();
    started.succeeds().says_part("Approvals  off");
}
