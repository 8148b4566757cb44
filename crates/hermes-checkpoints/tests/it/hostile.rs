//! Projects that would like git to run something, or to save what it must not.

use hermes_checkpoints::Error;
use pretty_assertions::assert_eq;

use crate::world::{LIMITS, World};

/// A script that leaves a trace.
fn trap(world: &World) -> String {
    let file = world.home.join("trap.sh");
    let trace = world.home.join("trapped");
    std::fs::write(&file, format!("touch {}; cat\n", trace.display())).unwrap();
    format!("sh {}", file.display())
}

fn is_trapped(world: &World) -> bool {
    world.home.join("trapped").exists()
}

fn repository(world: &World, directory: &str) {
    let path = world.project.join(directory);
    std::fs::create_dir_all(&path).unwrap();
    hermes_testkit::git(&path, &["init", "-q"]);
    std::fs::write(path.join("file.txt"), "one").unwrap();
    hermes_testkit::git(&path, &["add", "file.txt"]);
    hermes_testkit::git(&path, &["commit", "-qm", "first"]);
    let trap = trap(world);
    for (name, value) in [
        ("filter.evil.clean", trap.as_str()),
        ("filter.evil.smudge", &trap),
        ("filter.evil.process", &trap),
        ("filter.evil.required", "true"),
        ("core.fsmonitor", &trap),
        ("core.pager", &trap),
        ("diff.external", &trap),
        ("diff.evil.textconv", &trap),
    ] {
        hermes_testkit::git(&path, &["config", name, value]);
    }
    std::fs::write(path.join(".gitattributes"), "* filter=evil diff=evil\n").unwrap();
    for hook in [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
        "fsmonitor-watchman",
    ] {
        let hook = path.join(".git/hooks").join(hook);
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, format!("#!/bin/sh\n{trap}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&hook, mode).unwrap();
    }
}

#[test]
fn filters_hooks_and_monitors_of_a_repository_are_not_run() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    repository(&world, "");
    repository(&world, "nested");
    assert!(!is_trapped(&world));
    world.snapshot(&checkpoints, "first");
    assert_eq!(world.saved(), [".gitattributes", "file.txt"]);
    world.put("file.txt", "two");
    world.put("nested/file.txt", "two");
    world.snapshot(&checkpoints, "second");
    let snapshots = checkpoints.list(&world.project).unwrap();
    assert_eq!(snapshots.len(), 2, "{:?}", world.told());
    checkpoints.diff(&snapshots[1]).unwrap();
    checkpoints
        .restore(&snapshots[1], None, &world.project)
        .unwrap();
    assert_eq!(world.read("file.txt"), "one");
    assert_eq!(world.read("nested/file.txt"), "two");
    assert!(!is_trapped(&world));
    assert_eq!(world.told(), Vec::<String>::new());
}

#[test]
fn settings_of_the_user_and_variables_do_not_count() {
    let world = World::with_variables(&[
        ("GIT_DIR", "/nonexistent"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
        ("GIT_CONFIG_VALUE_0", "touch /tmp/never"),
        ("GIT_AUTHOR_DATE", "garbage"),
    ]);
    let trap = trap(&world);
    let user = world.home.parent().unwrap();
    let settings = format!(
        "[commit]\n gpgsign = true\n[gpg]\n program = {trap}\n[core]\n fsmonitor = {trap}\n \
         autocrlf = true\n[init]\n templateDir = {}\n[user]\n name = Somebody\n",
        user.display()
    );
    std::fs::write(user.join(".gitconfig"), settings).unwrap();
    std::fs::create_dir_all(user.join(".config/git")).unwrap();
    std::fs::write(user.join(".config/git/ignore"), "*\n").unwrap();
    std::fs::write(user.join(".config/git/attributes"), "* text eol=lf\n").unwrap();
    let checkpoints = world.checkpoints(LIMITS);
    world.put("a.txt", "one\r\n");
    world.snapshot(&checkpoints, "x");
    assert_eq!(world.told(), Vec::<String>::new());
    assert_eq!(world.saved(), ["a.txt"]);
    let store = world.home.join("checkpoints/store");
    let blob = hermes_testkit::git(&store, &["log", "--all", "--format=%an %ae"]);
    assert_eq!(blob, "Hermes Checkpoint hermes@local");
    assert!(!is_trapped(&world));
}

#[test]
fn secrets_are_left_out_whatever_the_project_says() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    world.put(".gitignore", "!.env\n!.env.*\n!*.log\n");
    for file in [
        ".env",
        ".env.local",
        "sub/.env",
        "app.py",
        "node_modules/x.js",
        "x.pyc",
    ] {
        world.put(file, "SECRET=1");
    }
    world.snapshot(&checkpoints, "x");
    assert_eq!(world.saved(), [".gitignore", "app.py"]);
}

#[test]
fn a_store_whose_settings_name_programs_is_refused() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    world.put("a", "1");
    world.snapshot(&checkpoints, "first");
    let config = world.home.join("checkpoints/store/config");
    let own = std::fs::read_to_string(&config).unwrap();
    let hook = format!("{own}[gc]\n\trecentObjectsHook = {}\n", trap(&world));
    std::fs::write(&config, hook).unwrap();
    world.put("a", "2");
    world.snapshot(&checkpoints, "second");
    let told = world.told();
    assert!(told[0].contains("gc.recentobjectshook"), "{told:?}");
    // Those who only look do not call git either.
    for refused in [
        checkpoints.list(&world.project).map(drop),
        world.store.status().map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::ForeignSetting { .. }), "{error}");
    }
    assert!(!is_trapped(&world));
    std::fs::write(&config, own).unwrap();
    assert_eq!(world.list().len(), 1);
    // Settings may be said to be elsewhere.
    let elsewhere = world.home.join("checkpoints/store/commondir");
    std::fs::write(&elsewhere, "/nonexistent").unwrap();
    let error = checkpoints.list(&world.project).unwrap_err();
    assert!(error.to_string().contains("commondir"), "{error}");
}

#[test]
fn repositories_in_directories_that_are_left_out_are_not_asked_for_their_state() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    repository(&world, "target/nested");
    world.put("target/.env", "SECRET=1");
    // The project wants them saved all the same.
    world.put(".gitignore", "!target/\n!.env\n");
    world.snapshot(&checkpoints, "first");
    assert_eq!(world.saved(), [".gitignore"]);
    // As large as before: git has to look into it.
    world.put("target/nested/file.txt", "two");
    world.put("a", "1");
    world.snapshot(&checkpoints, "second");
    assert_eq!(world.saved(), [".gitignore", "a"]);
    assert!(!is_trapped(&world));
    assert_eq!(world.told(), Vec::<String>::new());
}

#[test]
fn what_another_program_put_into_the_index_is_taken_out() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    world.put("a", "1");
    world.snapshot(&checkpoints, "first");
    repository(&world, "nested");
    world.put("target/.env", "SECRET=1");
    let project = hermes_checkpoints::Project::of(&world.project);
    let store = world.home.join("checkpoints/store");
    let index = store.join("indexes").join(project.id());
    let added = std::process::Command::new("git")
        .args(["add", "--force", "--all"])
        .current_dir(&world.project)
        .env("GIT_DIR", &store)
        .env("GIT_WORK_TREE", &world.project)
        .env("GIT_INDEX_FILE", &index)
        .output()
        .unwrap();
    assert!(added.status.success(), "{added:?}");
    world.put("nested/file.txt", "two");
    world.put("b", "1");
    world.snapshot(&checkpoints, "second");
    assert_eq!(world.saved(), ["a", "b"]);
    assert!(!is_trapped(&world));
}

#[test]
fn a_file_that_cannot_be_read_keeps_nothing_else_out() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    world.put("good", "1");
    world.put("bad", "1");
    let bad = world.project.join("bad");
    std::fs::set_permissions(&bad, std::fs::Permissions::from_mode(0o000)).unwrap();
    rustix_fifo(&world.project.join("fifo"));
    world.snapshot(&checkpoints, "x");
    assert!(world.saved().contains(&"good".to_owned()));
}

fn rustix_fifo(path: &std::path::Path) {
    hermes_fs::create_fifo(path, 0o600).unwrap();
}
