//! Stores that are somebody else's, damaged or full of evil.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use hermes_testkit::Tree;
use pretty_assertions::assert_eq;

use crate::{ABI, Desk, FEATURE, error_code, names, set_mode};

/// The code that an install into this target ends with.
fn code_for(desk: &Desk, target: &str, exit: i32) -> String {
    let call = desk.call(&["install", FEATURE, "--json"]);
    let outcome = call.env("HERMES_LAZY_INSTALL_TARGET", target).run();
    outcome.exits(exit);
    error_code(&outcome)
}

/// Commands that have nothing to do with add-ons, and the one that lists them.
fn everything_else_works(desk: &Desk) {
    for args in [
        ["--version"].as_slice(),
        &["config", "get", "terminal.timeout"],
        &["skills", "list"],
        &["profile", "list"],
        &["addons", "list"],
    ] {
        desk.home.run(args).succeeds();
    }
}

// check 15
#[test]
fn places_of_others_are_refused_and_left_alone() {
    let desk = Desk::new();
    desk.home
        .put_outside("mine/thesis.txt", "years of work", 0o644);
    desk.home.put("notes.txt", "mine");
    // Makes the home.
    desk.home
        .run(["config", "set", "timezone", "UTC"])
        .succeeds();
    let tree = || {
        let all = desk.home.tree().without_directory_times();
        all.only(|path| !path.contains("/logs/"))
    };
    let before = tree();
    let home = desk.home.user_home();
    let invalid = [
        "relative/path".to_owned(),
        "/".to_owned(),
        home.display().to_string(),
        home.parent().unwrap().display().to_string(),
        desk.home.root().display().to_string(),
        format!("{}/x/../", home.display()),
        "/opt/hermes/lazy".to_owned(),
        desk.home.outside("mine/thesis.txt").display().to_string(),
    ];
    for target in &invalid {
        assert_eq!(code_for(&desk, target, 1), "store_invalid", "{target}");
    }
    let mine = desk.home.outside("mine");
    assert_eq!(code_for(&desk, mine.to_str().unwrap(), 1), "store_foreign");
    assert_eq!(
        fs::read_to_string(mine.join("thesis.txt")).unwrap(),
        "years of work"
    );
    assert_eq!(names(&mine), ["thesis.txt"]);
    let open = desk.home.outside("open");
    fs::create_dir(&open).unwrap();
    set_mode(&open, 0o777);
    assert_eq!(code_for(&desk, open.to_str().unwrap(), 1), "store_unsafe");
    assert_eq!(names(&open), [""; 0]);
    before.is_still(&tree());
    assert_eq!(desk.installs(), 0);
    everything_else_works(&desk);
}

#[test]
fn a_program_that_lies_in_the_users_home_has_its_store_there_too() {
    let desk = Desk::new();
    let program = desk.home.user_home().join("hermes");
    fs::create_dir_all(desk.home.user_home()).unwrap();
    fs::hard_link(desk.home.program(), &program)
        .or_else(|_| fs::copy(desk.home.program(), &program).map(drop))
        .unwrap();
    desk.call(&["install", "debug.selftest"])
        .program(&program)
        .run()
        .succeeds();
    assert_eq!(desk.installs(), 1);
}

#[test]
fn a_store_that_cannot_be_written_is_named() {
    let desk = Desk::new();
    fs::create_dir_all(desk.home.path("closed")).unwrap();
    desk.home.give_to_nobody();
    set_mode(&desk.home.path("closed"), 0o555);
    let target = desk.home.path("closed/store");
    let install = desk
        .call(&["install", FEATURE])
        .env("HERMES_LAZY_INSTALL_TARGET", &target)
        .as_nobody();
    install.run().exits(1).says_part(&format!(
        "lazy install target {} is not writable: ",
        target.display()
    ));
    let managed = desk
        .call(&["install", FEATURE, "--json"])
        .env("HERMES_LAZY_INSTALL_TARGET", &target)
        .env("HERMES_MANAGED", "nix")
        .as_nobody()
        .run();
    managed.exits(3);
    assert_eq!(error_code(&managed), "managed");
    desk.home.hermes(["--version"]).as_nobody().run().succeeds();
    // One that cannot be read either.
    set_mode(&desk.home.path("closed"), 0o700);
    fs::create_dir(&target).unwrap();
    desk.home.give_to_nobody();
    set_mode(&target, 0o000);
    let list = desk
        .call(&["list"])
        .env("HERMES_LAZY_INSTALL_TARGET", &target)
        .as_nobody();
    list.run().succeeds().says_part("cannot be read");
    set_mode(&target, 0o700);
}

// check 17
#[test]
fn garbage_in_the_store_stops_nothing_but_the_feature() {
    let desk = Desk::new();
    desk.install().succeeds();
    let good = desk.current(FEATURE);
    // The index can be made again from the records.
    desk.home
        .put("lazy-packages/.hermes-addons.json", "\0garbage");
    assert_eq!(desk.current(FEATURE), good);
    assert_eq!(
        desk.home.read("lazy-packages/.hermes-addons.json"),
        "\0garbage"
    );
    desk.lock("skill.youtube", "0.7.1");
    desk.addons(&["install", "skill.youtube"]).succeeds();
    assert_eq!(
        desk.home.read("lazy-packages/.hermes-addons.json.bad"),
        "\0garbage"
    );
    assert_eq!(desk.current(FEATURE), good);
    everything_else_works(&desk);

    // A truncated record.
    let record = good.join("record.json");
    set_mode(&record, 0o600);
    let text = fs::read(&record).unwrap();
    fs::write(&record, &text[..text.len() / 2]).unwrap();
    desk.addons(&["verify"])
        .exits(1)
        .prints_part("✗ debug.selftest is damaged\n    the record cannot be read")
        .prints_part("✓ skill.youtube");
    desk.addons(&["doctor"])
        .exits(1)
        .prints_part("debug.selftest is damaged");
    desk.addons(&["verify", "--repair"]).succeeds();

    // An index that leads elsewhere is not followed.
    let index = desk.home.read("lazy-packages/.hermes-addons.json");
    let current = desk.current(FEATURE);
    let name = current.file_name().unwrap().to_str().unwrap();
    let evil = index.replace(name, "../../../../etc");
    desk.home.put("lazy-packages/.hermes-addons.json", evil);
    assert_eq!(desk.state(FEATURE), "broken");
    desk.install().succeeds();

    // The store itself is a file.
    fs::remove_dir_all(desk.store()).unwrap();
    desk.home.put("lazy-packages", "a file");
    everything_else_works(&desk);
    desk.install().exits(1).says_part("is not a directory");
    desk.home.run(["doctor"]).prints_part("is not a directory");
    assert_eq!(desk.home.read("lazy-packages"), "a file");
}

// check 16
#[test]
fn a_store_that_became_read_only_serves_what_is_in_it() {
    let desk = Desk::new();
    desk.lock("skill.youtube", "0.7.1");
    let python = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .unwrap();
    let python = String::from_utf8(python.stdout).unwrap();
    desk.uv("cat > \"$site/isodate/__init__.py\" <<'END'
import datetime
def parse_duration(text): return datetime.timedelta(seconds=3)
END");
    let call = |words: &[&str]| desk.call(words).env("HERMES_ADDON_PYTHON", python.trim());
    call(&["install", FEATURE]).run().succeeds();
    // The programs of workers are written by the first one.
    let duration = ["call", FEATURE, "debug.duration", "{\"text\": \"PT3S\"}"];
    call(&duration).run().succeeds();
    let before = Tree::read(&desk.store());
    let read_only = format!(
        "mount --bind '{store}' '{store}'\nmount -o remount,ro,bind '{store}'\n\"$0\" \"$@\"",
        store = desk.store().display()
    );
    let sealed = |words: &[&str]| call(words).in_mount_namespace(&read_only).run();
    let answer = sealed(&duration);
    assert_eq!(answer.succeeds().json()["result"]["seconds"], 3.0);
    sealed(&["verify"]).succeeds();
    sealed(&["list"]).succeeds();
    let other = sealed(&["install", "skill.youtube", "--json"]);
    other.exits(1).prints_part("is not writable: ");
    assert_eq!(error_code(&other), "store_unwritable");
    sealed(&["remove", FEATURE])
        .exits(1)
        .says_part("is not writable: ");
    before.is_still(&Tree::read(&desk.store()));
    assert_eq!(desk.installs(), 1);
}

#[test]
fn links_out_of_the_store_are_not_followed() {
    for name in ["@envs", "@stage", "@trash", "@envs/debug.selftest"] {
        let desk = Desk::new();
        desk.install().succeeds();
        desk.home.put_outside("victim/own.txt", "mine", 0o644);
        let victim = desk.home.outside("victim");
        let before = Tree::read(&victim);
        let link = desk.store().join(name);
        fs::remove_dir_all(&link).unwrap();
        symlink(&victim, &link).unwrap();
        desk.addons(&["list"]).succeeds();
        let outcome = desk.addons(&["install", FEATURE, "--force", "--json"]);
        outcome.exits(1);
        assert_eq!(error_code(&outcome), "store_unsafe", "{name}");
        outcome.prints_part("is a symbolic link that leads out of the store");
        let _gc = desk.addons(&["gc", "--legacy"]);
        let _remove = desk.addons(&["remove", FEATURE, "--force"]);
        before.is_still(&Tree::read(&victim));
        everything_else_works(&desk);
    }
}

// part 4: another stamp wipes
#[test]
fn a_stamp_of_another_interpreter_wipes_links_and_all_but_follows_none() {
    let desk = Desk::new();
    desk.lock("skill.youtube", "0.7.1");
    desk.install().succeeds();
    let good = desk.current(FEATURE);
    desk.home
        .put("lazy-packages/.python-abi", "2.7:old-abi-tag\n");
    desk.home.put(
        "lazy-packages/@envs/x/planted/site/evil.py",
        "raise SystemExit",
    );
    desk.home
        .put("lazy-packages/packaging/__init__.py", "stale");
    let victim = desk.home.put_outside("victim/own.txt", "mine", 0o644);
    symlink(victim.parent().unwrap(), desk.store().join("linked")).unwrap();
    desk.addons(&["install", "skill.youtube"]).succeeds();
    assert_eq!(desk.home.read("lazy-packages/.python-abi"), ABI);
    assert!(!desk.home.has("lazy-packages/@envs/x/planted"));
    assert!(!desk.home.has("lazy-packages/packaging"));
    assert!(!desk.home.has("lazy-packages/linked"));
    assert_eq!(fs::read_to_string(victim).unwrap(), "mine");
    // What was made for this interpreter stays.
    assert_eq!(desk.current(FEATURE), good);
}

#[test]
fn a_store_in_another_place_may_be_a_link_to_a_directory() {
    let desk = Desk::new();
    let disk = desk.home.outside("large-disk");
    fs::create_dir(&disk).unwrap();
    set_mode(&disk, 0o700);
    fs::create_dir_all(desk.home.root()).unwrap();
    symlink(&disk, desk.store()).unwrap();
    desk.install().succeeds();
    assert!(disk.join("@envs").join(FEATURE).is_dir());
    assert_eq!(desk.state(FEATURE), "installed");
}

#[test]
fn a_full_disk_under_the_store_stops_the_install_alone() {
    let desk = Desk::new();
    let store = desk.home.outside("small");
    fs::create_dir(&store).unwrap();
    let outcome = desk
        .call(&["install", FEATURE, "--json"])
        .env("HERMES_LAZY_INSTALL_TARGET", &store)
        .in_mount_namespace(
            "mount -t tmpfs -o size=64k,mode=700 tmpfs \"$HERMES_LAZY_INSTALL_TARGET\"
             dd if=/dev/zero of=\"$HERMES_LAZY_INSTALL_TARGET/@filler\" bs=1k 2>/dev/null || true
             : > \"$HERMES_LAZY_INSTALL_TARGET/.python-abi\" || true
             \"$0\" \"$@\"",
        )
        .run();
    outcome.exits(3);
    assert_eq!(error_code(&outcome), "no_space");
    assert_eq!(desk.installs(), 0);
    everything_else_works(&desk);
}
