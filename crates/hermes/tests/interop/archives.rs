//! Exported profiles and backups travel both ways.

use std::fs;

use pretty_assertions::assert_eq;

use crate::reference::Version;
use crate::world::{World, row};

with_each_reference!(
    a_profile_exported_here_is_imported_there,
    a_profile_exported_there_is_imported_here,
    a_backup_of_ours_is_restored_there,
    a_backup_of_theirs_is_restored_here,
);

/// A profile with something in every place that matters.
fn furnished(version: Version) -> World {
    let world = World::made_by_the_reference(version);
    world.ours(&[
        "-p",
        "coder",
        "config",
        "set",
        "model.default",
        "coder/model",
    ]);
    world.ours(&["-p", "coder", "config", "set", "EXA_API_KEY", "secret"]);
    fs::write(
        world.root("profiles/coder/memories/MEMORY.md"),
        "remember\n",
    )
    .unwrap();
    fs::write(world.root("profiles/coder/SOUL.md"), "You are a coder.\n").unwrap();
    fs::create_dir_all(world.root("profiles/coder/skills/own")).unwrap();
    fs::write(
        world.root("profiles/coder/skills/own/SKILL.md"),
        "---\nname: own\n---\n",
    )
    .unwrap();
    world
}

fn assert_furnished(world: &World, profile: &str) {
    let read =
        |path: &str| fs::read_to_string(world.root(&format!("profiles/{profile}/{path}"))).unwrap();
    assert_eq!(read("memories/MEMORY.md"), "remember\n");
    assert_eq!(read("SOUL.md"), "You are a coder.\n");
    assert_eq!(read("skills/own/SKILL.md"), "---\nname: own\n---\n");
    for table in [
        world.ours(&["profile", "list"]),
        world.theirs(&["profile", "list"]),
    ] {
        assert_eq!(row(&table, profile).unwrap()[1], "coder/model", "{table}");
    }
}

fn a_profile_exported_here_is_imported_there(version: Version) {
    let world = furnished(version);
    world.ours(&["profile", "export", "coder", "-o", "coder.tar.gz"]);
    world.theirs(&["profile", "import", "coder.tar.gz", "--name", "guest"]);
    assert_furnished(&world, "guest");
    assert!(!world.root("profiles/guest/.env").exists(), "a secret left");
}

fn a_profile_exported_there_is_imported_here(version: Version) {
    let world = furnished(version);
    world.theirs(&["profile", "export", "coder", "-o", "coder.tar.gz"]);
    world.ours(&["profile", "import", "coder.tar.gz", "--name", "guest"]);
    assert_furnished(&world, "guest");
    assert!(!world.root("profiles/guest/.env").exists(), "a secret left");
}

/// Both programs see in `there` what was in the home the backup was made of.
fn assert_restored(there: &World) {
    assert_furnished(there, "coder");
    for (args, expected) in [
        (["config", "get", "terminal.timeout"].as_slice(), "99\n"),
        (&["config", "get", "OPENROUTER_API_KEY"], "v\n"),
        (&["-p", "coder", "config", "get", "EXA_API_KEY"], "secret\n"),
    ] {
        assert_eq!(there.ours(args), expected, "{args:?}");
        if there.version.has_config_get {
            assert_eq!(there.theirs(args), expected, "{args:?}");
        }
    }
    assert!(there.theirs(&["config", "show"]).contains("99"));
    assert!(there.home().join(".local/bin/coder").exists());
}

fn a_backup_of_ours_is_restored_there(version: Version) {
    let here = furnished(version);
    let zip = here.home().join("ours.zip");
    here.ours(&["backup", "-o", zip.to_str().unwrap()]);
    let there = World::empty(version);
    there.theirs(&["import", zip.to_str().unwrap(), "--force"]);
    assert_restored(&there);
}

fn a_backup_of_theirs_is_restored_here(version: Version) {
    let here = furnished(version);
    let zip = here.home().join("theirs.zip");
    here.theirs(&["backup", "-o", zip.to_str().unwrap()]);
    let there = World::empty(version);
    there.ours(&["import", zip.to_str().unwrap(), "--force"]);
    assert_restored(&there);
}
