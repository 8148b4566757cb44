//! File modes, read-only homes and full disks.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;

use crate::SessionHome;

// check 39, for the database
#[test]
fn only_the_owner_can_read_the_database() {
    let home = SessionHome::new();
    home.talk("a", "cli", &["hello"]);
    // As the reference leaves it.
    fs::set_permissions(home.home.path("state.db"), PermissionsExt::from_mode(0o644)).unwrap();
    home.sessions(&["rename", "a", "x"]).succeeds();
    assert_eq!(home.home.mode("state.db"), 0o600);
}

#[test]
fn a_read_only_home_can_be_read() {
    let home = SessionHome::new();
    home.talk("a", "cli", &["hello"]);
    home.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    home.home.give_to_nobody();
    let protect = |directory: u32, file: u32| {
        fs::set_permissions(home.home.path("state.db"), PermissionsExt::from_mode(file)).unwrap();
        fs::set_permissions(home.home.root(), PermissionsExt::from_mode(directory)).unwrap();
    };
    protect(0o500, 0o400);
    for verb in [
        &["list"][..],
        &["stats"],
        &["search", "hello"],
        &["export", "-"],
    ] {
        home.call(verb).as_nobody().run().succeeds();
    }
    for verb in [&["rename", "a", "x"][..], &["delete", "a", "-y"]] {
        home.call(verb)
            .as_nobody()
            .run()
            .exits(1)
            .prints("")
            .says_part("could not ");
    }
    protect(0o700, 0o600);
    home.call(&["delete", "a", "-y"])
        .as_nobody()
        .run()
        .succeeds();
}

#[test]
fn a_full_disk_is_reported_as_an_environment_error() {
    let home = SessionHome::new();
    home.talk("a", "cli", &[&"many words to begin with ".repeat(2_000)]);
    let kept = home.home.outside("kept.db");
    fs::copy(home.home.path("state.db"), &kept).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=2m tmpfs '{root}'
         cp '{kept}' '{root}/state.db'
         dd if=/dev/zero of='{root}/ballast' bs=1k 2>/dev/null || true
         exec \"$0\" \"$@\"",
        root = home.home.root().display(),
        kept = kept.display(),
    );
    home.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    fs::copy(home.home.path("state.db"), &kept).unwrap();
    let outcome = home
        .call(&["rename", "a", "title"])
        .in_mount_namespace(&script)
        .run();
    outcome.exits(3).prints("");
}
