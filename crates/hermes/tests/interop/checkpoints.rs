//! One store of snapshots, two programs: either lists and restores what the other saved.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::reference::Version;
use crate::world::World;

with_each_reference!(either_restores_what_the_other_saved);

/// Calls of the reference's manager in a directory, one JSON result a line.
const THEIRS: &str = "import json, sys\n\
    from tools.checkpoint_manager import CheckpointManager, store_status\n\
    manager = CheckpointManager(enabled=True)\n\
    directory, call, *args = sys.argv[1:]\n\
    if call == 'take':\n\
    \x20   print(json.dumps(manager.ensure_checkpoint(directory, args[0])))\n\
    elif call == 'list':\n\
    \x20   print(json.dumps(manager.list_checkpoints(directory)))\n\
    elif call == 'restore':\n\
    \x20   print(json.dumps(manager.restore(directory, args[0])))\n\
    elif call == 'status':\n\
    \x20   print(json.dumps(store_status()))\n";

fn theirs(world: &World, args: &[&str]) -> Value {
    let printed = world.python(THEIRS, args);
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

fn either_restores_what_the_other_saved(version: Version) {
    let world = World::made_by_the_reference(version);
    let directory = world.root("../project");
    fs::create_dir_all(&directory).unwrap();
    let directory = directory.canonicalize().unwrap();
    let file = directory.join("a.txt");
    let shown = directory.display().to_string();
    let put = |text: &str| fs::write(&file, text).unwrap();
    let reasons = |found: &Value| -> Vec<String> {
        let all = found.as_array().unwrap().iter();
        all.map(|one| one["reason"].as_str().unwrap().to_owned())
            .collect()
    };

    put("one");
    fs::write(directory.join(".env"), "SECRET=1").unwrap();
    assert_eq!(theirs(&world, &[&shown, "take", "theirs 1"]), json!(true));
    put("two");
    let script = world.root("script.yaml");
    fs::write(
        &script,
        "turns:\n- calls: [{tool: write_file, arguments: {path: a.txt, content: three}}]\n- text: done\n",
    )
    .unwrap();
    world.ours(&["config", "set", "model.provider", "replay"]);
    world.ours(&[
        "config",
        "set",
        "model.script",
        &script.display().to_string(),
    ]);
    let ours = |args: &[&str], lines: &str| {
        let mut command = world.our_command();
        command.args(args).current_dir(&directory);
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(lines.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    ours(&["chat", "--checkpoints", "-Q", "-q", "go"], "");
    assert_eq!(fs::read_to_string(&file).unwrap(), "three");

    // They see ours, beside theirs, and restore it.
    let found = theirs(&world, &[&shown, "list"]);
    assert_eq!(
        reasons(&found),
        ["before write_file", "theirs 1"],
        "{found}"
    );
    let id = found[0]["hash"].as_str().unwrap();
    let restored = theirs(&world, &[&shown, "restore", id]);
    assert_eq!(restored["success"], true, "{restored}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "two");
    let status = theirs(&world, &[&shown, "status"]);
    assert_eq!(status["projects"][0]["commits"], 3, "{status}");

    // We see theirs, and restore it.
    let status: Value =
        serde_json::from_str(&world.ours(&["checkpoints", "status", "--json"])).unwrap();
    assert_eq!(status["projects"][0]["workdir"], shown);
    assert_eq!(status["projects"][0]["commits"], 3, "{status}");
    let lines = "/rollback\n/rollback 3\n/quit\n";
    ours(&["chat", "--cli", "--checkpoints"], lines);
    assert_eq!(fs::read_to_string(&file).unwrap(), "one");
    let found = theirs(&world, &[&shown, "list"]);
    assert_eq!(found.as_array().unwrap().len(), 4, "{found}");
    world.ours(&["checkpoints", "prune"]);
    put("four");
    assert_eq!(theirs(&world, &[&shown, "take", "theirs 2"]), json!(true));
    let status = theirs(&world, &[&shown, "status"]);
    assert_eq!(status["projects"][0]["commits"], 5, "{status}");
}
