//! Who is asked, with which window, and what is kept of it.

use hermes_store::rusqlite::Connection;
use hermes_testkit::{Answer, ModelServer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{World, session_of};

#[test]
fn an_unknown_provider_is_named_and_nothing_is_sent() {
    let world = World::answering([]);
    for args in [
        &["chat", "-Q", "-q", "hi", "--provider", "nosuch"][..],
        &["-z", "hi", "-m", "m", "--provider", "nosuch"],
        &["chat", "--provider", "nosuch"],
    ] {
        let outcome = world.hermes(args).run();
        outcome.exits(1).prints("").says_part("`nosuch`");
    }
    assert_eq!(world.server.received().len(), 0);
}

#[test]
fn a_short_name_of_a_model_leads_to_its_place() {
    let there = ModelServer::always(Answer::text("there"));
    let world = World::answering([]);
    let aliases = format!(
        "model_aliases: {{fast: {{model: small, provider: custom, base_url: '{}'}}}}",
        there.base_url()
    );
    world.configure("context_length: 200000", &aliases);
    for run in [
        world.hermes(&["-z", "hi", "-m", "fast"]),
        world.hermes(&["chat", "-Q", "-q", "hi", "-m", "fast"]),
        world
            .hermes(&["-z", "hi"])
            .env("HERMES_INFERENCE_MODEL", "fast"),
    ] {
        run.run().succeeds().prints("there\n");
    }
    assert_eq!(there.questions()[0].body["model"], "small");
    assert_eq!(world.server.received().len(), 0);
}

#[test]
fn a_small_window_is_told_once_refused_if_wanted_and_otherwise_used() {
    let world = World::with(ModelServer::always(Answer::text("ok")));
    let warning = "test-model has a window of 32000 tokens";
    world.configure("context_length: 32000", "");
    let outcome = world.ask("hi");
    outcome.succeeds().prints("ok\n").says_part(warning);
    assert_eq!(outcome.stderr.matches(warning).count(), 1);
    world.configure("context_length: 32000\n  min_context_enforcement: off", "");
    let outcome = world.ask("hi");
    outcome.succeeds().never_shows(warning);
    let count = world.bodies().len();
    world.configure(
        "context_length: 32000\n  min_context_enforcement: strict",
        "",
    );
    world.ask("hi").exits(1).prints("").says_part(warning);
    assert_eq!(world.bodies().len(), count);
    world.configure("context_length: 64000", "");
    world.ask("hi").succeeds().never_shows("has a window");
}

#[test]
fn a_window_that_was_stated_small_does_not_stop_the_next_start() {
    // check 10
    let too_long = json!({"error": {
        "message": "This model's maximum context length is 32768 tokens",
        "code": "context_length_exceeded",
    }});
    let mut refused = false;
    let server = ModelServer::start_with(move |request| {
        let is_first = !std::mem::replace(&mut refused, true);
        if is_first && !crate::world::is_summary_request(request) {
            Answer::status(400, &too_long)
        } else {
            Answer::text("fine")
        }
    });
    let world = World::with(server);
    world.configure("max_tokens: 1000", "");
    let first = world.ask(&"many words ".repeat(50));
    assert!(
        world
            .home
            .read("context_length_cache.yaml")
            .contains("32768"),
        "{first}"
    );
    let second = world.ask("hi");
    second.succeeds().prints("fine\n");
    let told = "window of 32768 tokens";
    assert_eq!(second.stderr.matches(told).count(), 1, "{second}");
}

#[test]
fn old_sessions_go_by_themselves_only_where_that_is_wanted() {
    let world = World::with(ModelServer::always(Answer::text("ok")));
    let old = session_of(&world.ask("long ago"));
    let age = |days: u64| {
        let sql = format!(
            "UPDATE sessions SET started_at = started_at - {0}, ended_at = ended_at - {0} \
             WHERE id = '{old}'",
            days * 86_400
        );
        let database = Connection::open(world.home.path("state.db")).unwrap();
        assert_eq!(database.execute(&sql, []).unwrap(), 1);
    };
    age(200);
    let is_there = || {
        let listed = world
            .home
            .run(["sessions", "list", "--json", "--limit", "50"]);
        listed.succeeds().stdout.contains(&old)
    };
    world.ask("today").succeeds();
    assert!(is_there());
    world.configure(
        "context_length: 200000",
        "sessions: {auto_prune: true, retention_days: 0}",
    );
    world.ask("today").succeeds();
    assert!(is_there());
    world.configure("context_length: 200000", "sessions: {auto_prune: true}");
    world.ask("today").succeeds().prints("ok\n");
    assert!(!is_there());
}
