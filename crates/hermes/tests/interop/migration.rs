//! Settings migrated here are settings there, whichever version they came from.

use std::fs;

use pretty_assertions::assert_eq;

use crate::reference::{V0_19_0, Version};
use crate::world::World;

with_each_reference!(
    a_migrated_home_is_read_there,
    a_migrated_home_is_written_there,
);

const OLD: &str = "\
# kept by hand
_config_version: 24
model:
  default: some/model
terminal:
  timeout: 77  # seconds
delegation:
  max_async_children: 8
memory:
  write_mode: approve
agent:
  verify_on_stop: auto
model_catalog:
  ttl_hours: 24
";

fn migrated(version: Version) -> World {
    let world = World::made_by_the_reference(version);
    fs::write(world.root("config.yaml"), OLD).unwrap();
    world.ours(&["config", "migrate", "--yes"]);
    world
}

fn a_migrated_home_is_read_there(version: Version) {
    let world = migrated(version);
    let shown = world.theirs(&["config", "show"]);
    assert!(
        shown.contains("some/model") && shown.contains("77s"),
        "{shown}"
    );
    let check = world.theirs(&["config", "check"]);
    assert!(check.contains("33"), "{check}");
}

fn a_migrated_home_is_written_there(version: Version) {
    let world = migrated(version);
    world.theirs(&["config", "set", "agent.max_turns", "7"]);
    let file = world.yaml_as_they_read_it(&world.root("config.yaml"));
    assert_eq!(file["_config_version"], 33);
    assert_eq!(file["agent"]["max_turns"], 7);
    assert_eq!(file["terminal"]["timeout"], 77);
    assert_eq!(file["delegation"]["max_concurrent_children"], 8);
    assert_eq!(world.ours(&["config", "get", "agent.max_turns"]), "7\n");
}

/// The version whose schema we write finds nothing left to do, and both make the same of a file.
#[test]
fn both_migrate_alike() {
    let ours = migrated(V0_19_0);
    let file = ours.root("config.yaml");
    let values = ours.yaml_as_they_read_it(&file);
    ours.theirs(&["config", "migrate"]);
    assert_eq!(
        ours.yaml_as_they_read_it(&file),
        values,
        "not done after us"
    );

    let theirs = World::made_by_the_reference(V0_19_0);
    let file = theirs.root("config.yaml");
    fs::write(&file, OLD).unwrap();
    theirs.theirs(&["config", "migrate"]);
    let migrated = theirs.yaml_as_they_read_it(&file);
    for (section, key) in [
        ("delegation", "max_async_children"),
        ("delegation", "max_concurrent_children"),
        ("memory", "write_mode"),
        ("memory", "write_approval"),
        ("agent", "verify_on_stop"),
        ("model_catalog", "ttl_hours"),
        ("terminal", "timeout"),
    ] {
        assert_eq!(
            values[section][key], migrated[section][key],
            "{section}.{key}"
        );
    }
    assert_eq!(values["_config_version"], migrated["_config_version"]);
}
