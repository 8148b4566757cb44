//! Modes, homes that may not be written to, and disks that are full.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;

use crate::Desk;

// check 39, for the database
#[test]
fn the_database_is_for_its_owner_only() {
    let desk = Desk::new();
    desk.talk("a", "cli", &["hello"]);
    // As the reference leaves it.
    fs::set_permissions(desk.home.path("state.db"), PermissionsExt::from_mode(0o644)).unwrap();
    desk.sessions(&["rename", "a", "x"]).succeeds();
    assert_eq!(desk.home.mode("state.db"), 0o600);
}

#[test]
fn a_home_that_may_not_be_written_to_can_be_read() {
    let desk = Desk::new();
    desk.talk("a", "cli", &["hello"]);
    desk.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    desk.home.give_to_nobody();
    let protect = |directory: u32, file: u32| {
        fs::set_permissions(desk.home.path("state.db"), PermissionsExt::from_mode(file)).unwrap();
        fs::set_permissions(desk.home.root(), PermissionsExt::from_mode(directory)).unwrap();
    };
    protect(0o500, 0o400);
    for verb in [
        &["list"][..],
        &["stats"],
        &["search", "hello"],
        &["export", "-"],
    ] {
        desk.call(verb).as_nobody().run().succeeds();
    }
    for verb in [&["rename", "a", "x"][..], &["delete", "a", "-y"]] {
        desk.call(verb)
            .as_nobody()
            .run()
            .exits(1)
            .prints("")
            .says_part("could not ");
    }
    protect(0o700, 0o600);
    desk.call(&["delete", "a", "-y"])
        .as_nobody()
        .run()
        .succeeds();
}

#[test]
fn a_full_disk_is_the_machines_trouble() {
    let desk = Desk::new();
    desk.talk("a", "cli", &[&"many words to begin with ".repeat(2_000)]);
    let kept = desk.home.outside("kept.db");
    fs::copy(desk.home.path("state.db"), &kept).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=2m tmpfs '{root}'
         cp '{kept}' '{root}/state.db'
         dd if=/dev/zero of='{root}/ballast' bs=1k 2>/dev/null || true
         exec \"$0\" \"$@\"",
        root = desk.home.root().display(),
        kept = kept.display(),
    );
    desk.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    fs::copy(desk.home.path("state.db"), &kept).unwrap();
    let outcome = desk
        .call(&["rename", "a", "title"])
        .in_mount_namespace(&script)
        .run();
    outcome.exits(3).prints("");
}
