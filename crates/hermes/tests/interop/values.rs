//! Values that are easy to get wrong, through the parsers of either side.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::reference::Version;
use crate::world::World;

with_each_reference!(
    yaml_of_ours_means_the_same_there,
    yaml_of_theirs_means_the_same_here,
    variables_of_ours_mean_the_same_there,
    variables_of_theirs_mean_the_same_here,
);

/// As typed behind `config set custom.N`.
const TYPED: [&str; 22] = [
    "plain",
    "off",
    "yes",
    "null",
    "~",
    "12",
    "012",
    "1.5",
    "1e3",
    "-4",
    "0x1f",
    "12:30:45",
    "2026-01-02",
    "a: b",
    "a # b",
    "# comment",
    "- item",
    "it's \"quoted\"",
    "back\\slash",
    "grüße 漢字 🙂",
    "${HOME}/x",
    "two\nlines",
];

/// As values of variables.
const VARIABLES: [&str; 12] = [
    "plain",
    "with space",
    "hash#inside",
    "hash # apart",
    "it's",
    "say \"hi\"",
    "back\\slash",
    "equals=sign",
    "$dollar",
    "a$b{c}",
    "  ",
    "trailing\\",
];

fn yaml_of_ours_means_the_same_there(version: Version) {
    let world = World::made_by_the_reference(version);
    for (index, typed) in TYPED.iter().enumerate() {
        let key = format!("custom.k{index}");
        world.ours(&["config", "set", "--force", &key, typed]);
    }
    world.ours(&[
        "config",
        "set",
        "--force",
        "custom.list",
        "[a, \"b: c\", 3, true]",
    ]);
    world.ours(&[
        "config",
        "set",
        "--force",
        "custom.map",
        "{a: 1, b: [x, y]}",
    ]);
    let theirs = &world.yaml_as_they_read_it(&world.root("config.yaml"))["custom"];
    for (key, theirs) in theirs.as_object().unwrap() {
        let typed = key
            .strip_prefix('k')
            .and_then(|index| index.parse::<usize>().ok())
            .map_or("", |index| TYPED[index]);
        // We expand `${…}` when reading; the file keeps it.
        if typed.contains("${") {
            assert_eq!(theirs, typed);
            continue;
        }
        let key = format!("custom.{key}");
        let ours: Value =
            serde_json::from_str(&world.ours(&["config", "get", &key, "--json"])).unwrap();
        assert_eq!(&ours, theirs, "{key} set to {typed:?}");
    }
}

fn yaml_of_theirs_means_the_same_here(version: Version) {
    let world = World::made_by_the_reference(version);
    for (index, typed) in TYPED.iter().enumerate() {
        // A word with a dash would be taken for an option there.
        let typed = if typed.starts_with('-') {
            "dash"
        } else {
            typed
        };
        world.theirs(&["config", "set", &format!("custom.k{index}"), typed]);
    }
    let theirs = &world.yaml_as_they_read_it(&world.root("config.yaml"))["custom"];
    assert_eq!(theirs.as_object().unwrap().len(), TYPED.len());
    for (key, theirs) in theirs.as_object().unwrap() {
        if theirs.as_str().is_some_and(|text| text.contains("${")) {
            continue;
        }
        let key = format!("custom.{key}");
        let ours: Value =
            serde_json::from_str(&world.ours(&["config", "get", &key, "--json"])).unwrap();
        assert_eq!(&ours, theirs, "{key}");
    }
}

fn variables_of_ours_mean_the_same_there(version: Version) {
    let world = World::made_by_the_reference(version);
    for (index, value) in VARIABLES.iter().enumerate() {
        let name = format!("CUSTOM_{index}");
        world.ours(&["config", "set", &name, value]);
        let theirs = world.variable_as_they_read_it(&world.root(".env"), &name);
        assert_eq!(theirs, *value, "{name}");
        let ours = world.ours(&["config", "get", &name]);
        assert_eq!(ours, format!("{value}\n"), "{name}");
    }
    assert_eq!(
        world.variable_as_they_read_it(&world.root(".env"), "OPENROUTER_API_KEY"),
        "v"
    );
}

fn variables_of_theirs_mean_the_same_here(version: Version) {
    let world = World::made_by_the_reference(version);
    // Blanks without quotes are nothing, which there is a value and here is none.
    let written = VARIABLES.iter().filter(|value| !value.trim().is_empty());
    for (index, value) in written.enumerate() {
        let name = format!("CUSTOM_{index}_API_KEY");
        world.theirs(&["config", "set", &name, value]);
        let theirs = world.variable_as_they_read_it(&world.root(".env"), &name);
        // The older one does not quote, and itself reads less than it was given: as it, so we.
        let ours = world.ours(&["config", "get", &name]);
        assert_eq!(ours, format!("{theirs}\n"), "{name} set to {value:?}");
    }
}
