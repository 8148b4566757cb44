//! Titles of new conversations, and who does side tasks.

use std::time::Duration;

use hermes_store::rusqlite::Connection;
use hermes_testkit::{ModelServer, ReceivedRequest, Running, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

/// Whether the question is one for a title.
fn asks_for_title(question: &ReceivedRequest) -> bool {
    question.body["messages"][0]["content"]
        .as_str()
        .is_some_and(|text| text.contains("You name conversations"))
}

/// A server that answers and titles.
fn titling(title: impl Fn() -> ScriptedAnswer + Send + 'static) -> ModelServer {
    ModelServer::start_with(move |question| {
        if asks_for_title(question) {
            title()
        } else {
            ScriptedAnswer::text("an answer")
        }
    })
}

/// A home where titles are made.
fn titled(title: impl Fn() -> ScriptedAnswer + Send + 'static) -> World {
    World::configured(
        titling(title),
        "auxiliary: {title_generation: {enabled: true}}",
    )
}

fn requests(world: &World) -> (usize, usize) {
    let questions = world.server.questions();
    let titles = questions.iter().filter(|one| asks_for_title(one)).count();
    (questions.len() - titles, titles)
}

/// Talks line by line, each answered, until `ready`; then ends the input. Gives what was said beside
/// the answers.
fn talk(world: &World, lines: &[&str], ready: impl Fn() -> bool) -> String {
    let mut running = world.hermes(&["chat", "-Q"]).start();
    for line in lines {
        running.write_line(line);
        assert_eq!(running.next_line().as_deref(), Some("an answer"));
    }
    wait_until("the conversation has come so far", ready);
    end(running)
}

fn end(mut running: Running) -> String {
    running.close_stdin();
    assert_eq!(running.wait().code(), Some(0));
    // Read by another thread, to its end.
    let mut said = running.errors();
    while said.iter().all(|line| !line.starts_with("session_id")) {
        said.extend(running.errors());
    }
    std::thread::sleep(Duration::from_millis(200));
    said.extend(running.errors());
    said.join("\n")
}

fn wait_until(what: &str, ready: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !ready() {
        assert!(begun.elapsed() < Duration::from_mins(1), "not yet: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn titles(world: &World) -> Vec<Value> {
    let listed = world.home.run(["sessions", "list", "--json"]);
    let listed = listed.succeeds().json();
    let sessions = listed.as_array().unwrap().iter();
    let mut titles: Vec<Value> = sessions.map(|one| one["title"].clone()).collect();
    titles.sort_by_key(|title| title.as_str().map(str::to_owned));
    titles
}

#[test]
fn a_new_conversation_gets_a_title_after_its_first_exchange() {
    let world = titled(|| ScriptedAnswer::text("\"Mending the lexer.\"\n"));
    for _ in 0..2 {
        let before = world.home.path("state.db").exists().then(|| titles(&world));
        let count = before.map_or(0, |titles| titles.len());
        talk(&world, &["mend it", "and more"], || {
            requests(&world).0 == 2 * (count + 1)
                && world.home.path("state.db").exists()
                && titles(&world)
                    .iter()
                    .filter(|title| !title.is_null())
                    .count()
                    == count + 1
        });
    }
    assert_eq!(
        titles(&world),
        [json!("Mending the lexer"), json!("Mending the lexer #2")]
    );
    // One request for each conversation, whole and without tools, and on its own account.
    assert_eq!(requests(&world), (4, 2));
    let questions = world.server.questions();
    let body = &questions
        .iter()
        .find(|one| asks_for_title(one))
        .unwrap()
        .body;
    assert!(
        body.get("stream").is_none() && body.get("tools").is_none(),
        "{body}"
    );
    let shown = body["messages"][1]["content"].as_str().unwrap();
    assert!(
        shown.contains("mend it") && shown.contains("an answer"),
        "{shown}"
    );
    let state = Connection::open(world.home.path("state.db")).unwrap();
    let (calls, own): (i64, i64) = state
        .query_row(
            "SELECT sum(api_call_count) FILTER (WHERE task = 'title_generation'), \
                 sum(api_call_count) FILTER (WHERE task = '') FROM session_model_usage",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!((calls, own), (2, 4));
}

#[test]
fn single_queries_ask_for_no_title() {
    let world = titled(|| ScriptedAnswer::text("never"));
    world.ask("one").succeeds();
    world.home.run(["chat", "-q", "two"]).succeeds();
    world.home.run(["-z", "three"]).succeeds();
    assert_eq!(requests(&world), (3, 0));
}

#[test]
fn a_resumed_conversation_keeps_its_title() {
    let world = titled(|| ScriptedAnswer::text("never"));
    let session = crate::world::session_of(&world.ask("one"));
    let mut running = world.hermes(&["chat", "-Q", "-r", &session]).start();
    running.write_line("two");
    assert_eq!(running.next_line().as_deref(), Some("an answer"));
    end(running);
    assert_eq!(requests(&world), (2, 0));
}

#[test]
fn titles_can_be_switched_off() {
    let server = titling(|| ScriptedAnswer::text("never"));
    let world = World::configured(server, "auxiliary: {title_generation: {enabled: false}}\n");
    talk(&world, &["one", "two"], || requests(&world).0 == 2);
    assert_eq!(requests(&world), (2, 0));
}

#[test]
fn failed_title_gives_one_notice_and_no_error() {
    let refused = || ScriptedAnswer::status(403, &json!({"error": {"message": "no titles here"}}));
    let world = titled(refused);
    let said = talk(&world, &["one", "two", "three"], || {
        requests(&world) == (3, 1)
    });
    assert_eq!(said.matches("has no title").count(), 1, "{said}");
    assert!(said.contains("no titles here"), "{said}");
    assert_eq!(titles(&world), [Value::Null]);
}

#[test]
fn slow_title_does_not_delay_the_exit() {
    let slow = || ScriptedAnswer::text("late").after(Duration::from_mins(10));
    let world = titled(slow);
    let begun = std::time::Instant::now();
    talk(&world, &["one"], || requests(&world).1 == 1);
    assert!(begun.elapsed() < Duration::from_mins(1));
    assert_eq!(titles(&world), [Value::Null]);
}

#[test]
fn title_requests_carry_no_keys_of_other_providers() {
    // check 9
    let titles = ModelServer::always(ScriptedAnswer::text("A title"));
    let more = format!(
        "auxiliary: {{title_generation: {{base_url: '{}', model: small}}}}\n",
        titles.base_url()
    );
    let world = World::configured(
        ModelServer::always(ScriptedAnswer::text("an answer")),
        &more,
    );
    let mut running = world
        .hermes(&["chat", "-Q"])
        .env("OPENAI_API_KEY", "sk-canary-openai-123")
        .start();
    running.write_line("one");
    titles.wait_for_questions(1);
    end(running);
    for request in titles.received().iter().chain(&world.server.received()) {
        assert!(!request.contains("canary"), "{:?}", request.body);
    }
}

#[test]
fn titles_are_in_the_language_of_the_settings() {
    let world = World::configured(
        titling(|| ScriptedAnswer::text("Der Lexer")),
        "auxiliary: {title_generation: {enabled: true, language: German}}",
    );
    talk(&world, &["mend it"], || requests(&world).1 == 1);
    let questions = world.server.questions();
    let question = questions.iter().find(|one| asks_for_title(one)).unwrap();
    let instructions = question.body["messages"][0]["content"].as_str().unwrap();
    assert!(
        instructions.contains("Write it in German"),
        "{instructions}"
    );
}
