//! Going on with a stored conversation.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{World, assert_paired, session_of};

#[test]
fn a_resumed_session_sends_the_same_prompt_and_tools_byte_for_byte() {
    let world = World::answering([
        ScriptedAnswer::call("terminal", &json!({"command": "echo x"})),
        ScriptedAnswer::text("one"),
        ScriptedAnswer::text("two"),
    ]);
    let first = world.ask("first");
    first.succeeds();
    let session = session_of(&first);
    // What the prompt is made of has changed meanwhile.
    world.home.put("SOUL.md", "Somebody else.");
    let second = world
        .hermes(&["chat", "-Q", "-q", "second", "-r", &session])
        .run();
    second.succeeds().prints("two\n");
    second.says_part(&format!(
        "↻ Resumed session {session} (1 user messages, 4 total messages)\n"
    ));
    let bodies = world.bodies();
    assert_eq!(bodies.len(), 3);
    for body in &bodies {
        assert_eq!(body["messages"][0], bodies[0]["messages"][0]);
        assert_eq!(body["tools"].to_string(), bodies[0]["tools"].to_string());
        assert_paired(body);
    }
    assert_eq!(session_of(&second), session);
}

#[test]
fn turns_of_one_session_send_the_same_prompt_and_tools_byte_for_byte() {
    let world = World::answering([
        ScriptedAnswer::text("one"),
        ScriptedAnswer::call(
            "terminal",
            &json!({"command": "echo Somebody else. > .hermes/SOUL.md"}),
        ),
        ScriptedAnswer::text("two"),
        ScriptedAnswer::text("three"),
    ]);
    let first = world.hermes(&["chat", "-Q"]).stdin("first\nsecond\n").run();
    first.succeeds().prints("one\ntwo\n");
    let session = session_of(&first);
    let third = world
        .hermes(&["chat", "-Q", "-q", "third", "-r", &session])
        .run();
    third.succeeds().prints("three\n");
    let questions = world.server.questions();
    assert_eq!(questions.len(), 4);
    let beginning = |question: &hermes_testkit::ReceivedRequest| {
        let raw = String::from_utf8(question.raw.clone()).unwrap();
        let tools = question.body["tools"].to_string();
        let system = question.body["messages"][0].to_string();
        // As they stand in the bytes, not only as values.
        assert!(raw.contains(&tools) && raw.contains(&system), "{raw}");
        (system, tools)
    };
    let all: Vec<_> = questions.iter().map(beginning).collect();
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
}

#[test]
fn the_latest_session_is_found_by_its_source() {
    let world = World::answering(["one", "two", "three", "four"].map(ScriptedAnswer::text));
    let first = session_of(&world.ask("first"));
    let tool = world
        .hermes(&["chat", "-Q", "-q", "x", "--source", "tool"])
        .run();
    assert_ne!(session_of(&tool), first);
    let outcome = world.hermes(&["chat", "-Q", "-q", "again", "-c"]).run();
    assert_eq!(session_of(&outcome), first);
    let prefix: String = first.chars().take(19).collect();
    let outcome = world
        .hermes(&["-r", &prefix, "chat", "-Q", "-q", "again"])
        .run();
    assert_eq!(session_of(&outcome), first);
}

#[test]
fn an_unknown_session_is_refused_in_two_lines() {
    let world = World::answering([]);
    let outcome = world
        .hermes(&["chat", "-Q", "-q", "x", "-r", "nosuch"])
        .run();
    outcome.refuses(1, "no such session: 'nosuch'");
    assert_eq!(outcome.stderr.lines().count(), 2, "{outcome}");
    let none = world.hermes(&["chat", "-Q", "-q", "x", "-c"]).run();
    none.exits(1).prints("");
    assert_eq!(world.server.received().len(), 0);
}

#[test]
fn failed_turn_does_not_block_the_next_one() {
    let world = World::answering([
        ScriptedAnswer::status(403, &json!({"error": {"message": "no"}})),
        ScriptedAnswer::text("fine"),
    ]);
    let failed = world.ask("first");
    failed.exits(1).prints("");
    let session = session_of(&failed);
    let outcome = world
        .hermes(&["chat", "-Q", "-q", "second", "-r", &session])
        .run();
    outcome.succeeds().prints("fine\n");
    let messages = world.last_messages();
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[1]["content"], json!("first\n\nsecond"));
    // Merged in the copy that is sent only.
    assert_eq!(world.stored(&session).len(), 3);
}

#[test]
fn resumed_session_returns_to_its_directory() {
    let world = World::answering([
        ScriptedAnswer::text("one"),
        ScriptedAnswer::call("terminal", &json!({"command": "pwd"})),
        ScriptedAnswer::text("two"),
    ]);
    let there = world.home.outside("there");
    std::fs::create_dir(&there).unwrap();
    let first = world
        .hermes(&["chat", "-Q", "-q", "a"])
        .in_directory(&there)
        .run();
    let session = session_of(&first);
    let second = world
        .hermes(&["chat", "-Q", "-q", "b", "-r", &session])
        .run();
    second.succeeds();
    let result = world.last_messages().last().unwrap()["content"].to_string();
    assert!(result.contains(there.to_str().unwrap()), "{result}");
}

#[test]
fn undone_messages_are_not_sent_again() {
    let world = World::answering(["one", "two", "three", "four"].map(ScriptedAnswer::text));
    let outcome = world
        .hermes(&["chat", "-Q"])
        .stdin("first\nsecond\n/undo\nthird\n/retry\n")
        .run();
    outcome.succeeds().prints("one\ntwo\nthree\nfour\n");
    let texts: Vec<String> = world.last_messages()[1..]
        .iter()
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(texts, ["first", "one", "third"]);
    let stored = world.stored(&session_of(&outcome));
    assert_eq!(stored.len(), 8);
}

#[test]
fn undone_messages_stay_undone_in_a_resumed_session() {
    let refused = ScriptedAnswer::status(403, &json!({"error": {"message": "no"}}));
    let answers = ["two", "two again", "last"].map(ScriptedAnswer::text);
    let world = World::answering([refused].into_iter().chain(answers));
    let lines = "first\nsecond\n/retry\n/undo\n";
    let outcome = world.hermes(&["chat", "-Q"]).stdin(lines).run();
    outcome.prints_part("two\ntwo again\n");
    let session = session_of(&outcome);
    let next = world
        .hermes(&["chat", "-Q", "-q", "third", "-r", &session])
        .run();
    next.succeeds().prints("last\n");
    // The turn that failed is still there; the exchange that was taken back is not.
    let messages = world.last_messages();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(messages[1]["content"], json!("first\n\nthird"));
    let texts: Vec<String> = world
        .stored(&session)
        .iter()
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        texts,
        [
            "first",
            "second",
            "two",
            "second",
            "two again",
            "third",
            "last"
        ]
    );
    let database = hermes_store::rusqlite::Connection::open(world.home.path("state.db")).unwrap();
    let hidden: i64 = database
        .query_row(
            "SELECT count(*) FROM messages WHERE active = 0",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(hidden, 4);
}

#[test]
fn open_conversations_are_limited_over_all_processes() {
    let world = World::configured(
        ModelServer::always(ScriptedAnswer::text("one")),
        "max_concurrent_sessions: 1\n",
    );
    // One that died without a word holds no place.
    world.home.put(
        "runtime/active_sessions.json",
        r#"{"entries": [{"lease_id": "x", "session_id": "s", "surface": "cli", "pid": 1, "start_ticks": 0}]}"#,
    );
    let mut open = world.hermes(&["chat"]).start_at_terminal();
    open.wait_for("> ");
    world
        .ask("hi")
        .refuses(1, "1 of 1 conversations of this profile are open already");
    open.press("\u{4}");
    open.wait().exits(0);
    world.ask("hi").succeeds().prints("one\n");
    assert_eq!(
        world.home.read("runtime/active_sessions.json"),
        r#"{"entries":[]}"#
    );
}

#[test]
fn the_way_back_names_the_profile() {
    let world = World::answering([ScriptedAnswer::text("one"), ScriptedAnswer::text("two")]);
    world
        .hermes(&["chat", "-q", "hi"])
        .run()
        .succeeds()
        .says_part("\nGo on with: hermes --resume ");
    world.home.run(["profile", "create", "coder"]).succeeds();
    let config = world.home.read("config.yaml");
    world.home.put("profiles/coder/config.yaml", config);
    world
        .hermes(&["-p", "coder", "chat", "-q", "hi"])
        .run()
        .succeeds()
        .says_part("\nGo on with: hermes -p coder --resume ");
}
