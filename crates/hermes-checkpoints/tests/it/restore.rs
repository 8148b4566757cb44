//! Taking, listing, comparing and restoring.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use hermes_checkpoints::Error;
use pretty_assertions::assert_eq;

use crate::world::{LIMITS, World, noise};

#[test]
fn files_come_back_as_they_were_and_the_way_back_is_saved() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    world.put("a.txt", "one\r\n");
    world.put("dir/b.txt", "b");
    world.put("run.sh", "#!/bin/sh");
    let script = world.project.join("run.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    // Attributes of the project must not change what is saved.
    world.put(".gitattributes", "* text eol=lf\n*.txt ident\n");
    world.snapshot(&checkpoints, "before write_file");

    world.put("a.txt", "two\n");
    std::fs::remove_dir_all(world.project.join("dir")).unwrap();
    std::fs::remove_file(&script).unwrap();
    world.put("later.txt", "made since");

    let snapshots = checkpoints.list(&world.project).unwrap();
    assert_eq!(snapshots.len(), 1);
    let first = snapshots.first().unwrap();
    assert_eq!(first.reason, "before write_file");
    let diff = checkpoints.diff(first).unwrap();
    assert!(diff.files.contains("dir/b.txt"), "{}", diff.files);
    assert!(diff.text.contains("+two"), "{}", diff.text);

    let restored = checkpoints.restore(first, None, &world.project).unwrap();
    assert_eq!(
        (restored.files, restored.made_since),
        (3, vec!["later.txt".to_owned()])
    );
    assert_eq!(world.read("a.txt"), "one\r\n");
    assert_eq!(world.read("dir/b.txt"), "b");
    assert_eq!(
        script.metadata().unwrap().permissions().mode() & 0o111,
        0o111
    );
    assert_eq!(world.read("later.txt"), "made since");

    // What was there before is a snapshot as well.
    let snapshots = checkpoints.list(&world.project).unwrap();
    assert!(snapshots[0].reason.starts_with("pre-rollback snapshot"));
    checkpoints
        .restore(&snapshots[0], None, &world.project)
        .unwrap();
    assert_eq!(world.read("a.txt"), "two\n");
    assert_eq!(world.told(), Vec::<String>::new());
}

#[test]
fn one_file_is_restored_and_paths_out_of_the_project_are_refused() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    world.put("src/a.txt", "a1");
    world.put("src/b.txt", "b1");
    world.snapshot(&checkpoints, "x");
    world.put("src/a.txt", "a2");
    world.put("src/b.txt", "b2");
    let first = &checkpoints.list(&world.project).unwrap()[0];
    let src = world.project.join("src");
    checkpoints.restore(first, Some("a.txt"), &src).unwrap();
    assert_eq!(
        (world.read("src/a.txt"), world.read("src/b.txt")),
        ("a1".into(), "b2".into())
    );
    for (path, expected) in [
        ("../../other", "outside"),
        ("/etc/passwd", "outside"),
        ("nothing.txt", "not in the snapshot"),
        (":(glob)**", "not in the snapshot"),
        ("-f", "not in the snapshot"),
    ] {
        let error = checkpoints.restore(first, Some(path), &src).unwrap_err();
        assert!(error.to_string().contains(expected), "{path}: {error}");
    }
    assert_eq!(world.read("src/b.txt"), "b2");
}

#[test]
fn one_snapshot_per_step_and_none_without_a_change() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    world.put("a", "1");
    checkpoints.before_change(&world.project.join("a"), "first");
    world.put("a", "2");
    checkpoints.before_change(&world.project.join("a"), "same step");
    assert_eq!(world.list().len(), 1);
    // A sub-agent has steps of its own.
    checkpoints
        .of_child()
        .before_change(&world.project.join("a"), "child");
    assert_eq!(world.list().len(), 2);
    world.snapshot(&checkpoints, "unchanged");
    assert_eq!(world.list().len(), 2);
    world.put("a", "3");
    world.snapshot(&checkpoints, "third");
    let reasons: Vec<_> = world.list().into_iter().map(|one| one.reason).collect();
    assert_eq!(reasons, ["third", "child", "first"]);
}

#[test]
fn what_no_snapshot_holds_is_not_overwritten() {
    let world = World::new();
    let limits = hermes_checkpoints::Limits {
        max_file_bytes: 100,
        ..LIMITS
    };
    let checkpoints = world.checkpoints(limits);
    world.put("data", "small");
    world.put("other", "o1");
    world.put("place/file", "f");
    world.snapshot(&checkpoints, "x");
    world.put("data", "x".repeat(200));
    world.put("other", "o2");
    // A large file where a directory was: it is in no snapshot either.
    std::fs::remove_dir_all(world.project.join("place")).unwrap();
    world.put("place", "y".repeat(200));
    let first = &checkpoints.list(&world.project).unwrap()[0];
    let restored = checkpoints.restore(first, None, &world.project).unwrap();
    assert_eq!(restored.unsaved, ["data", "place/file"]);
    assert_eq!(world.read("other"), "o1");
    assert_eq!(world.read("data"), "x".repeat(200));
    assert_eq!(world.read("place"), "y".repeat(200));
}

#[test]
fn restoring_writes_through_no_link() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    let outside = world.home.parent().unwrap().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("file"), "theirs").unwrap();
    std::fs::write(outside.join("secret"), "theirs").unwrap();
    symlink(outside.join("secret"), {
        std::fs::create_dir_all(&world.project).unwrap();
        world.project.join("link")
    })
    .unwrap();
    world.put("dir/file", "ours");
    world.snapshot(&checkpoints, "x");
    // What is behind a link was not read.
    assert_eq!(world.saved(), ["dir/file", "link"]);
    std::fs::remove_dir_all(world.project.join("dir")).unwrap();
    symlink(&outside, world.project.join("dir")).unwrap();
    let first = &checkpoints.list(&world.project).unwrap()[0];
    checkpoints.restore(first, None, &world.project).unwrap();
    assert_eq!(
        std::fs::read_to_string(outside.join("file")).unwrap(),
        "theirs"
    );
    assert_eq!(world.read("dir/file"), "ours");
    assert!(!world.project.join("dir").is_symlink());
}

#[test]
fn an_unknown_snapshot_and_one_of_another_project_are_refused() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    world.put("a", "1");
    world.snapshot(&checkpoints, "x");
    let mut other = checkpoints.list(&world.project).unwrap().remove(0);
    other.directory = world.home.parent().unwrap().join("elsewhere");
    std::fs::create_dir_all(&other.directory).unwrap();
    let error = checkpoints
        .restore(&other, None, &world.project)
        .unwrap_err();
    assert!(matches!(error, Error::NoSnapshot(_)), "{error}");
    assert_eq!(std::fs::read_dir(&other.directory).unwrap().count(), 0);
}

#[test]
fn an_index_that_names_lost_objects_is_made_anew() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    world.put("a", "1");
    world.snapshot(&checkpoints, "first");
    world.put("b", "2");
    let store = world.home.join("checkpoints/store");
    let index = std::fs::read_dir(store.join("indexes"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let path = index.path();
    let run = |words: &[&str]| {
        let status = std::process::Command::new("git")
            .args(words)
            .current_dir(&world.project)
            .env("GIT_DIR", &store)
            .env("GIT_WORK_TREE", &world.project)
            .env("GIT_INDEX_FILE", &path)
            .status();
        assert!(status.unwrap().success());
    };
    // Staged by somebody who never came to the snapshot, and tidied away.
    run(&["add", "-A"]);
    run(&["gc", "--prune=now", "--quiet"]);
    world.snapshot(&checkpoints, "second");
    assert_eq!(world.told(), Vec::<String>::new());
    assert_eq!(world.saved(), ["a", "b"]);
    std::fs::write(&path, "garbage").unwrap();
    world.put("c", "3");
    world.snapshot(&checkpoints, "third");
    assert_eq!(world.saved(), ["a", "b", "c"], "{:?}", world.told());
}

#[test]
fn the_oldest_snapshot_of_a_full_store_can_be_gone_back_to() {
    let world = World::new();
    let limits = hermes_checkpoints::Limits {
        max_total_bytes: 350 * 1024,
        ..LIMITS
    };
    let checkpoints = world.checkpoints(limits);
    for round in 0..3 {
        world.put("noise", noise(round));
        world.snapshot(&checkpoints, &format!("round {round}"));
    }
    // What is there now has to be saved first, and then the store is too large.
    world.put("noise", noise(3));
    let snapshots = checkpoints.list(&world.project).unwrap();
    let oldest = snapshots.last().unwrap();
    assert_eq!(oldest.reason, "round 0");
    checkpoints.restore(oldest, None, &world.project).unwrap();
    assert_eq!(
        std::fs::read(world.project.join("noise")).unwrap(),
        noise(0)
    );
    let newest = &checkpoints.list(&world.project).unwrap()[0];
    checkpoints.restore(newest, None, &world.project).unwrap();
    assert_eq!(
        std::fs::read(world.project.join("noise")).unwrap(),
        noise(3)
    );
}

#[test]
fn who_may_read_a_file_stays_as_it_is() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    let mode = |path: &str| {
        let meta = world.project.join(path).metadata().unwrap();
        meta.permissions().mode() & 0o777
    };
    let long = "n".repeat(255);
    for path in ["private", "program", &long] {
        world.put(path, "one");
    }
    let set = |path: &str, mode: u32| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(world.project.join(path), mode).unwrap();
    };
    set("private", 0o600);
    set("program", 0o750);
    world.snapshot(&checkpoints, "x");
    for path in ["private", "program", &long] {
        world.put(path, "two");
    }
    set("program", 0o640);
    let first = &checkpoints.list(&world.project).unwrap()[0];
    let restored = checkpoints.restore(first, None, &world.project).unwrap();
    assert_eq!(restored.files, 3);
    assert_eq!((mode("private"), mode("program")), (0o600, 0o750));
    assert_eq!(world.read(&long), "one");
}

#[test]
fn what_could_not_be_saved_is_not_replaced() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    world.put("place", "one");
    world.put("other", "one");
    world.snapshot(&checkpoints, "first");
    world.put("place", "two");
    world.put("other", "two");
    world.snapshot(&checkpoints, "second");
    // Git does not save such a thing, and goes on with the file it knows.
    let place = world.project.join("place");
    std::fs::remove_file(&place).unwrap();
    hermes_fs::create_fifo(&place, 0o600).unwrap();
    let snapshots = checkpoints.list(&world.project).unwrap();
    let restored = checkpoints
        .restore(&snapshots[1], None, &world.project)
        .unwrap();
    assert_eq!(
        (restored.files, restored.unsaved),
        (1, vec!["place".to_owned()])
    );
    assert_eq!(world.read("other"), "one");
    assert!(!place.metadata().unwrap().is_file());
}
