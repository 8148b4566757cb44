//! Killed at every write point: the old state or the new one, never half of each.

use hermes_store::{Database, OpenOptions};
use hermes_testkit::{KillPoints, TestHome, Tree, kill_at_every_write};
use pretty_assertions::assert_eq;

use crate::{configured, fresh};

/// What counts of a state: content and modes; logs, locks and rests of killed writers do not.
fn state(home: &TestHome) -> Tree {
    let tree = home.tree().without_times();
    tree.without_extensions(&["lock", "tmp"]).only(|path| {
        path.starts_with(".hermes/")
            && !path.starts_with(".hermes/logs/")
            && !path.starts_with(".hermes/.import.")
            && path != ".hermes/profiles/"
            && !path.starts_with(".hermes/profiles/.")
            // Whoever reads a database last puts these away; a killed reader does not.
            && !path.ends_with(".db-shm")
            && !path.ends_with(".db-wal")
    })
}

/// Runs the command unharmed in a copy.
fn unharmed(prepared: &TestHome, args: &[&str]) -> Tree {
    let home = prepared.copied();
    home.run(args).succeeds();
    state(&home)
}

/// Both states were seen, so the kills were spread over the whole command.
fn saw_both(points: KillPoints, old: u64, new: u64) {
    assert!(old > 0 && new > 0, "{points:?}: {old} old, {new} new");
}

#[test]
fn a_setting_is_old_or_new() {
    let args = ["config", "set", "terminal.timeout", "99"];
    let prepared = configured("# mine\nterminal:\n  timeout: 5 # five\n");
    let (before, after) = (state(&prepared), unharmed(&prepared, &args));
    let (mut old, mut new) = (0, 0);
    let points = kill_at_every_write(&prepared, &args, |point, home, outcome| {
        let found = state(home);
        if outcome.was_killed() && found == before {
            old += 1;
        } else {
            assert_eq!(found, after, "half done at point {point}");
            new += 1;
        }
        home.run(args).succeeds();
        assert_eq!(state(home), after, "after point {point}");
    });
    saw_both(points, old, new);
}

#[test]
fn a_secret_is_old_or_new() {
    let args = ["config", "set", "A_TOKEN", "two"];
    let prepared = configured("");
    prepared.put(".env", "# mine\nA_TOKEN=one\n");
    let (before, after) = (state(&prepared), unharmed(&prepared, &args));
    let (mut old, mut new) = (0, 0);
    let points = kill_at_every_write(&prepared, &args, |point, home, outcome| {
        let found = state(home);
        if outcome.was_killed() && found == before {
            old += 1;
        } else {
            assert_eq!(found, after, "half done at point {point}");
            new += 1;
        }
    });
    saw_both(points, old, new);
}

/// A small home with something of every kind.
fn full_home() -> TestHome {
    let home = fresh();
    home.put("config.yaml", "terminal: {timeout: 5}\n");
    home.put(".env", "A_TOKEN=one\n");
    home.put("notes/deep/own.txt", "mine");
    std::os::unix::fs::symlink("deep/own.txt", home.path("notes/link")).unwrap();
    let database = Database::open(&home.path("memory_store.db"), &OpenOptions::default()).unwrap();
    let made = database
        .connection()
        .execute_batch("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (7)");
    made.unwrap();
    home
}

fn profile_names(home: &TestHome) -> Vec<String> {
    let list = home.run(["profile", "list", "--json"]).succeeds().json();
    let profiles = list["profiles"].as_array().unwrap();
    let name = |profile: &serde_json::Value| profile["name"].as_str().unwrap().to_owned();
    profiles.iter().map(name).collect()
}

// check 7
#[test]
fn a_clone_is_whole_or_not_there_and_can_be_tried_again() {
    let args = ["profile", "create", "copy", "--clone-all"];
    let prepared = full_home();
    let (before, after) = (state(&prepared), unharmed(&prepared, &args));
    assert!(
        after
            .paths()
            .contains(&".hermes/profiles/copy/notes/deep/own.txt")
    );
    let (mut old, mut new) = (0, 0);
    let points = kill_at_every_write(&prepared, &args, |point, home, outcome| {
        let names = profile_names(home);
        if outcome.was_killed() && names == ["default"] {
            assert_eq!(state(home), before, "at point {point}");
            old += 1;
            home.run(args).succeeds();
        } else {
            assert_eq!(names, ["default", "copy"], "at point {point}");
            new += 1;
        }
        assert_eq!(state(home), after, "half done at point {point}");
        // The next creation clears away what the killed one left.
        home.run(["profile", "create", "next"]).succeeds();
        let mut left: Vec<_> = std::fs::read_dir(home.path("profiles"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["copy", "next"], "at point {point}");
    });
    saw_both(points, old, new);
}

#[test]
fn an_import_is_old_or_new_once_the_next_command_has_run() {
    let source = full_home();
    source.put("profiles/coder/SOUL.md", "new");
    let prepared = fresh();
    prepared.put("config.yaml", "terminal: {timeout: 6}\n");
    prepared.put(".env", "OLD_TOKEN=old\n");
    prepared.put("mine.txt", "kept");
    let zip = prepared.outside("backup.zip");
    source.hermes(["backup", "-o"]).arg(&zip).run().succeeds();
    // Named relative to the start directory, so that every copy of the home has its own.
    let args = ["import", "--force", "../backup.zip"];
    let (before, after) = (state(&prepared), unharmed(&prepared, &args));
    assert_ne!(before, after);
    let (mut old, mut new, mut finished) = (0, 0, 0);
    let points = kill_at_every_write(&prepared, &args, |point, home, outcome| {
        // The profile exists only in the new state: selecting it must come after recovery.
        let next = home.run(["-p", "coder", "config", "path"]);
        if next
            .stderr
            .contains("note: finished an interrupted import into ~/.hermes")
        {
            finished += 1;
        }
        let found = state(home);
        if outcome.was_killed() && found == before {
            next.exits(1);
            old += 1;
        } else {
            next.succeeds();
            assert_eq!(found, after, "half done at point {point}");
            new += 1;
        }
        assert!(!home.has(".import.journal"), "at point {point}");
        home.run(args).succeeds();
        assert_eq!(state(home), after, "after point {point}");
    });
    saw_both(points, old, new);
    assert!(finished > 0, "no journal was rolled forward in {points:?}");
}

#[test]
fn doctor_reports_an_interrupted_import_and_leaves_it() {
    let source = full_home();
    let prepared = fresh();
    prepared.put("config.yaml", "terminal: {timeout: 6}\n");
    let zip = prepared.outside("backup.zip");
    source.hermes(["backup", "-o"]).arg(&zip).run().succeeds();
    let args = ["import", "--force", "../backup.zip"];
    let home = (1..1000)
        .find_map(|point| {
            let home = prepared.copied();
            let outcome = home.hermes(args).kill_at_write(point).run();
            assert!(outcome.was_killed(), "no journal was left by {outcome}");
            home.has(".import.journal").then_some(home)
        })
        .unwrap();
    let before = home.tree();
    home.run(["doctor"])
        .exits(1)
        .prints_part("✗ an import was interrupted; some files are old, some new\n");
    before.is_still(&home.tree());
    home.run(["doctor", "--fix"])
        .says_part("note: finished an interrupted import into ~/.hermes");
    assert!(!home.has(".import.journal"));
}
