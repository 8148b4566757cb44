//! What we write into a home of the reference, the reference reads and goes on writing.

use std::fs;

use pretty_assertions::assert_eq;

use crate::reference::Version;
use crate::world::{World, row};

with_each_reference!(
    settings_of_ours_are_seen_there,
    their_writes_after_ours_are_seen_here,
    a_profile_of_ours_is_one_there,
    a_profile_of_theirs_can_be_changed_here,
    the_sticky_profile_is_shared,
    an_alias_of_ours_is_recognised_there,
);

fn settings_of_ours_are_seen_there(version: Version) {
    let world = World::made_by_the_reference(version);
    world.ours(&["config", "set", "terminal.timeout", "123"]);
    world.ours(&["config", "set", "terminal.backend", "docker"]);
    world.ours(&["config", "set", "EXA_API_KEY", "a-long-enough-key-of-ours"]);
    let shown = world.theirs(&["config", "show"]);
    for expected in ["123", "docker", "a-lo...ours"] {
        assert!(shown.contains(expected), "{expected} in:\n{shown}");
    }
    if version.has_config_get {
        let get = |key| world.theirs(&["config", "get", key]);
        assert_eq!(get("terminal.timeout"), "123\n");
        assert_eq!(get("EXA_API_KEY"), "a-long-enough-key-of-ours\n");
        world.ours(&["config", "unset", "terminal.timeout"]);
        assert_eq!(get("terminal.timeout"), "180\n");
    }
}

fn their_writes_after_ours_are_seen_here(version: Version) {
    let world = World::made_by_the_reference(version);
    world.ours(&["config", "set", "terminal.timeout", "123"]);
    world.ours(&["config", "set", "approvals.mode", "off"]);
    world.ours(&["config", "set", "EXA_API_KEY", "ours"]);
    world.theirs(&["config", "set", "agent.max_turns", "7"]);
    world.theirs(&["config", "set", "terminal.timeout", "124"]);
    world.theirs(&["config", "set", "TAVILY_API_KEY", "theirs"]);
    for (key, value) in [
        ("terminal.timeout", "124"),
        ("approvals.mode", "off"),
        ("agent.max_turns", "7"),
        ("model.default", "some/model"),
        ("OPENROUTER_API_KEY", "v"),
        ("EXA_API_KEY", "ours"),
        ("TAVILY_API_KEY", "theirs"),
    ] {
        assert_eq!(world.ours(&["config", "get", key]), format!("{value}\n"));
    }
    world.ours(&["config", "check"]);
}

fn a_profile_of_ours_is_one_there(version: Version) {
    let world = World::made_by_the_reference(version);
    world.ours(&["profile", "create", "fresh", "--description", "Ours"]);
    world.ours(&["profile", "create", "copy", "--clone"]);
    world.ours(&[
        "profile",
        "create",
        "twin",
        "--clone-all",
        "--clone-from",
        "coder",
    ]);
    let table = world.theirs(&["profile", "list"]);
    for name in ["fresh", "copy", "twin"] {
        assert!(row(&table, name).is_some(), "{name} in:\n{table}");
        let path = world.root(&format!("profiles/{name}/config.yaml"));
        assert_eq!(
            world.theirs(&["-p", name, "config", "path"]).trim(),
            path.to_str().unwrap()
        );
    }
    assert_eq!(row(&table, "copy").unwrap()[1], "some/model");
    world.theirs(&["-p", "copy", "config", "set", "agent.max_turns", "5"]);
    assert_eq!(
        world.ours(&["-p", "copy", "config", "get", "agent.max_turns"]),
        "5\n"
    );
    assert_eq!(
        world.ours(&["-p", "copy", "config", "get", "OPENROUTER_API_KEY"]),
        "v\n"
    );
    // Theirs may take it away again, and ours does not miss it.
    world.theirs(&["profile", "delete", "fresh", "--yes"]);
    assert_eq!(row(&world.ours(&["profile", "list"]), "fresh"), None);
}

fn a_profile_of_theirs_can_be_changed_here(version: Version) {
    let world = World::made_by_the_reference(version);
    world.ours(&[
        "-p",
        "coder",
        "config",
        "set",
        "model.default",
        "other/model",
    ]);
    world.ours(&["profile", "rename", "coder", "writer"]);
    let table = world.theirs(&["profile", "list"]);
    assert_eq!(row(&table, "coder"), None);
    let writer = row(&table, "writer").unwrap();
    assert_eq!(
        (writer[1].as_str(), writer[3].as_str()),
        ("other/model", "writer")
    );
    world.ours(&["profile", "delete", "writer", "--yes"]);
    assert_eq!(row(&world.theirs(&["profile", "list"]), "writer"), None);
    assert!(!world.home().join(".local/bin/writer").exists());
}

fn the_sticky_profile_is_shared(version: Version) {
    let world = World::made_by_the_reference(version);
    let path = |name: &str| world.root(&format!("profiles/{name}/config.yaml"));
    world.ours(&["profile", "create", "x"]);
    world.ours(&["profile", "use", "x"]);
    assert_eq!(
        world.theirs(&["config", "path"]).trim(),
        path("x").to_str().unwrap()
    );
    world.theirs(&["profile", "use", "coder"]);
    assert_eq!(
        world.ours(&["config", "path"]).trim(),
        path("coder").to_str().unwrap()
    );
    world.ours(&["profile", "use", "default"]);
    let root = world.root("config.yaml");
    assert_eq!(
        world.theirs(&["config", "path"]).trim(),
        root.to_str().unwrap()
    );
    world.theirs(&["profile", "use", "x"]);
    world.theirs(&["profile", "use", "default"]);
    assert_eq!(
        world.ours(&["config", "path"]).trim(),
        root.to_str().unwrap()
    );
}

fn an_alias_of_ours_is_recognised_there(version: Version) {
    let world = World::made_by_the_reference(version);
    world.ours(&["profile", "create", "x"]);
    let wrapper = world.home().join(".local/bin/x");
    let text = fs::read_to_string(&wrapper).unwrap();
    assert!(text.contains("hermes -p x"), "{text}");
    assert_eq!(
        row(&world.theirs(&["profile", "list"]), "x").unwrap()[3],
        "x"
    );
    world.theirs(&["profile", "alias", "x", "--remove"]);
    assert!(
        !wrapper.exists(),
        "the reference did not take it for a wrapper"
    );
    world.theirs(&["profile", "alias", "x"]);
    world.ours(&["profile", "alias", "x", "--remove"]);
    assert!(!wrapper.exists(), "ours did not take theirs for a wrapper");
}
