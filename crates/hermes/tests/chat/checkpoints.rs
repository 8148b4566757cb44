//! Snapshots of files: taken before a change, listed, compared and restored with `/rollback`.

use std::path::{Path, PathBuf};

use hermes_testkit::{ModelServer, ProgramOutput, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

/// A world with a project; gives its directory.
fn project(answers: impl IntoIterator<Item = ScriptedAnswer>, more: &str) -> (World, PathBuf) {
    let world = World::configured(ModelServer::start(answers), more);
    let directory = world.home.user_home().join("project");
    std::fs::create_dir_all(directory.join("src")).unwrap();
    std::fs::write(directory.join("Makefile"), "all:\n").unwrap();
    std::fs::write(directory.join("src/a.txt"), "one\n").unwrap();
    std::fs::write(directory.join(".env"), "KEY=1\n").unwrap();
    (world, directory)
}

fn write(path: &str, content: &str) -> ScriptedAnswer {
    ScriptedAnswer::call("write_file", &json!({"path": path, "content": content}))
}

fn typed(world: &World, directory: &Path, args: &[&str], lines: &str) -> ProgramOutput {
    let call = world.hermes(&["chat", "--cli"]).args(args);
    call.in_directory(directory).stdin(lines).run()
}

fn status(world: &World) -> Value {
    let outcome = world.home.run(["checkpoints", "list", "--json"]);
    outcome.succeeds();
    outcome.json()
}

const ENABLED: &str = "checkpoints: {enabled: true}\n";

#[test]
fn changes_are_rolled_back_and_the_model_forgets_them() {
    let (world, directory) = project(
        [
            write("src/a.txt", "two\n"),
            ScriptedAnswer::text("written"),
            ScriptedAnswer::text("anew"),
        ],
        "",
    );
    let lines = "change it\n/rollback\n/rollback diff 1\n/rollback 1\nwhat now\n/rollback 1\n";
    let outcome = typed(&world, &directory, &["--checkpoints"], lines);
    outcome
        .succeeds()
        .says_part("Snapshots of ~/project, newest first:")
        .says_part("before write_file")
        .says_part("src/a.txt | 2 +-")
        .says_part("+two")
        .says_part("Restored 1 file from the snapshot")
        .says_part("Undone, so that the model knows: change it");
    // The second rollback goes back to what was there before the first.
    let text = std::fs::read_to_string(directory.join("src/a.txt")).unwrap();
    assert_eq!(text, "two\n");
    let last = world.last_messages();
    let said = last.iter().filter(|message| message["role"] == "user");
    let said: Vec<_> = said.map(|message| message["content"].clone()).collect();
    assert_eq!(said, [json!("what now")]);
}

#[test]
fn nothing_is_taken_unless_asked_for() {
    let (world, directory) = project(
        [write("src/a.txt", "two\n"), ScriptedAnswer::text("written")],
        "",
    );
    typed(&world, &directory, &[], "change it\n").succeeds();
    assert!(!world.home.has("checkpoints"));
    typed(&world, &directory, &[], "/rollback\n")
        .exits(1)
        .says_part("takes no snapshots")
        .says_part("--checkpoints");
}

#[test]
fn a_destructive_command_is_preceded_by_a_snapshot_and_a_harmless_one_is_not() {
    let run = |command: &str| ScriptedAnswer::call("terminal", &json!({"command": command}));
    let (world, directory) = project(
        [
            run("cat src/a.txt 2>/dev/null"),
            run("cd src && rm a.txt"),
            run("echo three > b.txt"),
            ScriptedAnswer::text("done"),
        ],
        ENABLED,
    );
    typed(&world, &directory, &["--yolo"], "go\n").succeeds();
    assert!(!directory.join("src/a.txt").exists());
    let outcome = typed(
        &world,
        &directory.join("src"),
        &[],
        "/rollback\n/rollback 2 a.txt\n",
    );
    outcome
        .succeeds()
        .says_part(" 1. ")
        .says_part(" 2. ")
        .says_part("before terminal: cd src && rm a.txt")
        .says_part("Restored 1 file");
    assert!(directory.join("src/a.txt").exists());
    // The file of the other step stays.
    assert!(directory.join("src/b.txt").exists());
}

#[test]
fn patch_of_several_projects_saves_each_of_them() {
    let (world, directory) = project([], "");
    let other = world.home.user_home().join("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("b.txt"), "b\n").unwrap();
    let patch = format!(
        "*** Begin Patch\n*** Update File: src/a.txt\n-one\n+two\n*** Update File: {}\n-b\n+c\n*** End \
         Patch\n",
        other.join("b.txt").display()
    );
    let call = ScriptedAnswer::call("patch", &json!({"mode": "patch", "patch": patch}));
    let server = ModelServer::start([call, ScriptedAnswer::text("done")]);
    let world = World {
        server,
        home: world.home,
    };
    world.configure("context_length: 200000", ENABLED);
    let outcome = typed(&world, &directory, &[], "go\n/rollback\n");
    outcome
        .succeeds()
        .says_part("~/other")
        .says_part("~/project");
    let found = status(&world);
    assert_eq!(found["project_count"], 2, "{found}");
}

#[test]
fn bad_arguments_of_rollback_are_answered_with_a_way_on() {
    let (world, directory) = project(
        [write("src/a.txt", "two\n"), ScriptedAnswer::text("written")],
        ENABLED,
    );
    typed(&world, &directory, &[], "/rollback 1\n")
        .exits(1)
        .says_part("no snapshots of");
    typed(&world, &directory, &[], "go\n").succeeds();
    for (line, part) in [
        ("/rollback 0", "there is no snapshot '0'"),
        ("/rollback 7", "use a number from 1 to 1"),
        ("/rollback diff", "usage: /rollback diff N"),
        ("/rollback zzz", "there is no snapshot 'zzz'"),
        ("/rollback 1 ../../x", "outside"),
        ("/rollback 1 nothing", "not in the snapshot"),
    ] {
        let outcome = typed(&world, &directory, &[], &format!("{line}\n"));
        outcome.exits(1).says_part(part);
    }
    let text = std::fs::read_to_string(directory.join("src/a.txt")).unwrap();
    assert_eq!(text, "two\n");
}

#[test]
fn store_is_shown_pruned_and_cleared() {
    let (world, directory) = project(
        [write("src/a.txt", "two\n"), ScriptedAnswer::text("written")],
        ENABLED,
    );
    let outcome = world.home.run(["checkpoints"]);
    outcome
        .succeeds()
        .prints_part("No snapshots in ~/.hermes/checkpoints");
    world
        .home
        .run(["checkpoints", "clear"])
        .succeeds()
        .prints_part("nothing to delete");
    world
        .home
        .run(["checkpoints", "clear-legacy"])
        .succeeds()
        .prints_part("nothing to delete");
    typed(&world, &directory, &[], "go\n").succeeds();
    let found = status(&world);
    assert_eq!(found["project_count"], 1);
    assert_eq!(found["legacy_archives"], json!([]));
    let one = &found["projects"][0];
    assert_eq!(one["workdir"], directory.display().to_string());
    assert_eq!((&one["exists"], &one["commits"]), (&json!(true), &json!(1)));
    assert!(
        one["last_touch"].is_f64() && one["created_at"].is_f64(),
        "{one}"
    );
    assert_eq!(one["hash"].as_str().unwrap().len(), 16);
    assert!(found["store_size_bytes"].as_u64().unwrap() > 0);
    world
        .home
        .run(["checkpoints", "status", "--limit", "0"])
        .succeeds()
        .says_part("1 more");
    world
        .home
        .run(["checkpoints", "prune", "--retention-days", "7"])
        .succeeds()
        .prints_part("1 directory");
    assert_eq!(status(&world)["project_count"], 1);
    std::fs::remove_dir_all(&directory).unwrap();
    world
        .home
        .run(["checkpoints", "prune", "--keep-orphans"])
        .succeeds();
    assert_eq!(status(&world)["projects"][0]["exists"], json!(false));
    world.home.run(["checkpoints", "prune"]).succeeds();
    assert_eq!(status(&world)["project_count"], 0);
    world
        .home
        .run(["checkpoints", "clear"])
        .exits(1)
        .says_part("--force");
    assert!(world.home.has("checkpoints"));
    world.home.run(["checkpoints", "clear", "-f"]).succeeds();
    assert!(!world.home.has("checkpoints"));
    world
        .home
        .run(["checkpoints", "prune", "--retention-days", "-1"])
        .exits(2);
}

#[test]
fn old_snapshots_are_removed_beside_a_conversation() {
    let (world, directory) = project(
        [
            write("src/a.txt", "two\n"),
            ScriptedAnswer::text("written"),
            ScriptedAnswer::text("hi"),
        ],
        ENABLED,
    );
    typed(&world, &directory, &[], "go\n").succeeds();
    std::fs::remove_dir_all(&directory).unwrap();
    world.ask("hello").succeeds();
    assert_eq!(status(&world)["project_count"], 0);
    assert!(world.home.has("checkpoints/.last_prune"));
}
