//! Who is asked, with which window, and what is kept of it.

use hermes_store::rusqlite::Connection;
use hermes_testkit::{ModelServer, ScriptedAnswer};
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
fn model_alias_selects_its_provider() {
    let there = ModelServer::always(ScriptedAnswer::text("there"));
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
fn small_context_window_warns_once_or_is_refused_if_strict() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("ok")));
    let warning = "test-model has a context window of 32000 tokens";
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
fn learned_small_window_does_not_stop_the_next_start() {
    // check 10
    let too_long = json!({"error": {
        "message": "This model's maximum context length is 32768 tokens",
        "code": "context_length_exceeded",
    }});
    let mut refused = false;
    let server = ModelServer::start_with(move |request| {
        let is_first = !std::mem::replace(&mut refused, true);
        if is_first && !crate::world::is_summary_request(request) {
            ScriptedAnswer::status(400, &too_long)
        } else {
            ScriptedAnswer::text("fine")
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
fn old_sessions_are_pruned_only_if_configured() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("ok")));
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

#[test]
fn request_dumps_and_snapshots_are_written_only_if_configured() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("ok")));
    let files = || {
        let listed = std::fs::read_dir(world.home.path("sessions"));
        let names = listed.into_iter().flatten().map(|entry| {
            let name = entry.unwrap().file_name();
            name.to_string_lossy().into_owned()
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    world.ask("hi").succeeds();
    assert_eq!(files(), [""; 0]);
    world.configure(
        "context_length: 200000\n  api_key: canary-key-0123456789",
        "sessions: {write_json_snapshots: true}",
    );
    let outcome = world
        .hermes(&["chat", "-Q", "-q", "my key is canary-key-0123456789"])
        .env("HERMES_DUMP_REQUESTS", "1")
        .run();
    outcome.succeeds();
    let session = session_of(&outcome);
    let [dump, snapshot] = files().try_into().unwrap();
    assert!(
        dump.starts_with(&format!("request_dump_{session}_")),
        "{dump}"
    );
    assert_eq!(snapshot, format!("session_{session}.json"));
    for name in [&dump, &snapshot] {
        // check 39
        assert_eq!(world.home.mode(&format!("sessions/{name}")), 0o600);
    }
    let dump = world.home.read(&format!("sessions/{dump}"));
    assert!(!dump.contains("canary-key"), "{dump}");
    let dump: serde_json::Value = serde_json::from_str(&dump).unwrap();
    assert_eq!(dump["request"]["body"]["model"], "test-model");
    let snapshot = world.home.read(&format!("sessions/{snapshot}"));
    let snapshot: serde_json::Value = serde_json::from_str(&snapshot).unwrap();
    assert_eq!(snapshot["message_count"], 2);
    assert_eq!(snapshot["messages"][1]["content"], "ok");
}

#[test]
fn resumed_session_restores_its_directory_unless_disabled() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("ok")));
    let there = world.home.user_home().join("there");
    std::fs::create_dir(&there).unwrap();
    let begun = world
        .hermes(&["chat", "-Q", "-q", "hi"])
        .in_directory(&there)
        .run();
    let session = session_of(&begun);
    let server = ModelServer::start_with(|request| {
        let last = request.body["messages"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .clone();
        if last["role"] == "tool" {
            ScriptedAnswer::text(last["content"].as_str().unwrap())
        } else {
            ScriptedAnswer::call("terminal", &json!({"command": "pwd -P"}))
        }
    });
    let world = World {
        home: world.home,
        server,
    };
    world.configure("context_length: 200000", "");
    let there = std::fs::canonicalize(&there).unwrap();
    let resumed = world
        .hermes(&["chat", "-Q", "-q", "where", "-r", &session])
        .run();
    resumed.succeeds().prints_part(there.to_str().unwrap());
    let stayed = world
        .hermes(&[
            "chat",
            "-Q",
            "-q",
            "where",
            "-r",
            &session,
            "--no-restore-cwd",
        ])
        .run();
    stayed.succeeds();
    assert!(!stayed.stdout.contains(there.to_str().unwrap()), "{stayed}");
}
