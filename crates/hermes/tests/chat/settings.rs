//! Settings that are wrong, and the modes of files.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;

use crate::world::World;

#[test]
fn invalid_context_length_warns_and_is_determined() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("done")));
    world.configure("context_length: \"256K\"", "");
    let outcome = world.ask("hi");
    outcome
        .succeeds()
        .prints("done\n")
        .says_part("context_length");
}

#[test]
fn broken_settings_stop_the_query_and_name_the_line() {
    let world = World::answering([]);
    world
        .home
        .put("config.yaml", "model:\n  default: m\n bad: [\n");
    let outcome = world.ask("hi");
    outcome.exits(1).prints("").says_part("line 3");
    assert_eq!(world.server.received().len(), 0);
    let ignored = world
        .hermes(&["chat", "-Q", "-q", "hi", "--ignore-user-config"])
        .run();
    ignored.exits(1).prints("").says_part("no model provider");
}

#[test]
fn stored_files_are_private() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("done")));
    world.home.put(
        "config.yaml",
        format!(
            "model: {{provider: lab, default: m, context_length: 200000}}\n\
             providers: {{lab: {{url: '{}'}}}}\n",
            world.server.base_url()
        ),
    );
    let added = ["auth", "add", "lab", "--api-key", "key-of-the-lab"];
    with_ordinary_umask(&world, &added).succeeds();
    with_ordinary_umask(&world, &["chat", "-Q", "-q", "hi"]).succeeds();
    assert_eq!(world.home.mode("state.db"), 0o600);
    assert_eq!(world.home.mode("auth.json"), 0o600);
    let kept = kept_requests(&world);
    assert!(!kept.is_empty());
    for name in kept {
        assert_eq!(world.home.mode(&name), 0o600, "{name}");
    }
    // Also what the database has beside it while somebody has it open.
    for name in ["state.db-wal", "state.db-shm", "auth.lock"] {
        assert!(
            !world.home.has(name) || world.home.mode(name) == 0o600,
            "{name}"
        );
    }
}

/// Requests that were kept in files.
fn kept_requests(world: &World) -> Vec<String> {
    let entries = std::fs::read_dir(world.home.path("sessions"));
    let entries = entries.into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.map(|name| format!("sessions/{name}")).collect()
}

/// Runs the program with the umask most people have.
fn with_ordinary_umask(world: &World, args: &[&str]) -> hermes_testkit::ProgramOutput {
    let script = "umask 022; exec \"$@\"";
    let program = world.home.program().to_str().unwrap();
    let words = ["-c", script, "sh", program];
    let all: Vec<&str> = words.iter().chain(args).copied().collect();
    world
        .hermes(&all)
        .program("/bin/sh")
        .env("HERMES_DUMP_REQUESTS", "1")
        .run()
}

#[test]
fn the_budget_follows_the_settings() {
    let server = ModelServer::start_with(|request| match request.body.get("tools") {
        Some(_) => ScriptedAnswer::call("terminal", &serde_json::json!({"command": "date +%N"})),
        None => ScriptedAnswer::text("so far"),
    });
    let world = World::configured(server, "agent:\n  max_turns: 3\n");
    world.ask("go").exits(1).prints("so far\n");
    assert_eq!(world.bodies().len(), 4);
}
