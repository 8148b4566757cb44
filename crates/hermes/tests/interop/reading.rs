//! A home the reference made opens here, and looking at it changes nothing.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::reference::Version;
use crate::world::{World, changed, row};

with_each_reference!(
    our_eyes_leave_no_trace,
    profiles_are_found,
    settings_and_secrets_are_found,
    a_home_without_any_file_of_ours_is_sound,
);

/// Every command that only looks.
const LOOKS: [&[&str]; 18] = [
    &["profile"],
    &["profile", "list"],
    &["profile", "list", "--json"],
    &["profile", "show", "coder"],
    &["profile", "describe", "coder"],
    &["config"],
    &["config", "show", "--json"],
    &["config", "get", "terminal.timeout", "--origin"],
    &["config", "get", "OPENROUTER_API_KEY"],
    &["config", "path"],
    &["config", "check"],
    &["config", "migrate", "--dry-run"],
    &["status", "--json"],
    &["doctor"],
    &["doctor", "--json"],
    &["dump"],
    &["logs", "list"],
    &["-p", "coder", "config", "show"],
];

/// A home of the reference's, with a key that a provider could take: without one `doctor` says that
/// no conversation can run.
fn world_with_key(version: Version) -> World {
    let mut world = World::made_by_the_reference(version);
    let key = (
        "OPENROUTER_API_KEY",
        "sk-or-v1-0123456789abcdef0123456789".into(),
    );
    world.variables.push(key);
    world
}

fn our_eyes_leave_no_trace(version: Version) {
    let world = world_with_key(version);
    let before = world.tree();
    for look in LOOKS {
        world.ours(look);
        assert_eq!(changed(&before, &world.tree()), [""; 0], "after {look:?}");
    }
}

fn profiles_are_found(version: Version) {
    let world = World::made_by_the_reference(version);
    let table = world.ours(&["profile", "list"]);
    assert_eq!(row(&table, "default").unwrap()[1], "some/model");
    assert_eq!(row(&table, "coder").unwrap()[3], "coder", "its alias");

    let list: Value = serde_json::from_str(&world.ours(&["profile", "list", "--json"])).unwrap();
    let coder = &list["profiles"][1];
    assert_eq!(coder["name"], "coder");
    assert_eq!(coder["path"], json!(world.root("profiles/coder")));
    // The older one copies its skills into every profile, the newer one none.
    let skills = coder["skill_count"].as_u64().unwrap();
    let theirs = world.theirs(&["profile", "show", "coder"]);
    assert!(
        theirs.lines().any(|line| line.starts_with("Skills:")
            && line.split_whitespace().nth(1) == Some(skills.to_string().as_str())),
        "{skills} here, there:\n{theirs}"
    );
    let path = world.ours(&["-p", "coder", "config", "path"]);
    assert_eq!(path, world.theirs(&["-p", "coder", "config", "path"]));
}

fn settings_and_secrets_are_found(version: Version) {
    let world = World::made_by_the_reference(version);
    assert_eq!(world.ours(&["config", "get", "terminal.timeout"]), "99\n");
    assert_eq!(
        world.ours(&["config", "get", "model.default"]),
        "some/model\n"
    );
    assert_eq!(world.ours(&["config", "get", "OPENROUTER_API_KEY"]), "v\n");
    let shown = world.ours(&["config", "show"]);
    assert!(!shown.contains("OPENROUTER_API_KEY=v"), "{shown}");
    if version.has_config_get {
        for key in [
            "terminal.timeout",
            "terminal.backend",
            "agent.max_turns",
            "model.default",
            "approvals.mode",
            "display.language",
            "kanban.dispatch_interval_seconds",
            "logging.level",
            "OPENROUTER_API_KEY",
        ] {
            let get = ["config", "get", key];
            assert_eq!(world.ours(&get), world.theirs(&get), "{key}");
        }
    }
}

fn a_home_without_any_file_of_ours_is_sound(version: Version) {
    let world = world_with_key(version);
    // Exit code 0 says that no row is bad.
    let rows: Value = serde_json::from_str(&world.ours(&["doctor", "--json"])).unwrap();
    let text = rows.to_string();
    assert!(text.contains("config.yaml"), "{text}");
    assert!(
        !text.contains("unknown"),
        "a key of theirs is unknown: {text}"
    );
}
