//! Disks that are full, and directories that are not to be written to.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;

use crate::{Desk, assert_sound};

#[test]
fn a_read_only_board_says_so_and_stays_as_it_is() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    desk.database()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let before = fs::read(desk.home.path("kanban.db")).unwrap();
    desk.home.give_to_nobody();
    let protect = |mode: u32, file_mode: u32| {
        for file in ["kanban.db", "kanban.db.init.lock"] {
            fs::set_permissions(desk.home.path(file), PermissionsExt::from_mode(file_mode))
                .unwrap();
        }
        fs::set_permissions(desk.home.root(), PermissionsExt::from_mode(mode)).unwrap();
    };
    protect(0o500, 0o400);
    for verb in [
        &["create", "y"][..],
        &["complete", &id],
        &["comment", &id, "z"],
    ] {
        let outcome = desk.call(verb).as_nobody().run();
        outcome.exits(1).prints("").says_part("kanban: ");
    }
    protect(0o700, 0o600);
    assert!(fs::read(desk.home.path("kanban.db")).unwrap() == before);
    desk.call(&["complete", &id]).as_nobody().run().succeeds();
}

#[test]
fn a_home_that_cannot_hold_a_board_says_so() {
    let desk = Desk::new();
    fs::create_dir_all(desk.home.root()).unwrap();
    desk.home.give_to_nobody();
    fs::set_permissions(desk.home.root(), PermissionsExt::from_mode(0o500)).unwrap();
    let outcome = desk.call(&["list"]).as_nobody().run();
    outcome
        .exits(1)
        .prints("")
        .says_part("kanban: could not initialize database: ")
        .says_part("permission denied");
    fs::set_permissions(desk.home.root(), PermissionsExt::from_mode(0o700)).unwrap();
}

#[test]
fn a_full_disk_loses_nothing() {
    let desk = Desk::new();
    let root = desk.home.root();
    fs::create_dir_all(&root).unwrap();
    let kept = desk.home.outside("kept.db");
    let body = "b".repeat(20_000);
    // Cards are filed until one does not fit; those that were confirmed must be there.
    let script = format!(
        "mount -t tmpfs -o size=700k tmpfs '{root}'
         filed=0
         while \"$0\" kanban create \"card $filed\" --body '{body}' >/dev/null 2>'{err}'; do
             filed=$((filed + 1))
             test $filed -lt 200
         done
         \"$0\" kanban create more --body '{body}' >/dev/null 2>&1 && exit 90
         code=$?
         echo \"code $code filed $filed\"
         cp '{root}/kanban.db' '{kept}'
         if test -e '{root}/kanban.db-wal'; then cp '{root}/kanban.db-wal' '{kept}-wal'; fi
         true || \"$0\" \"$@\"",
        root = root.display(),
        err = desk.home.outside("stderr").display(),
        kept = kept.display(),
    );
    let outcome = desk.call(&["list"]).in_mount_namespace(&script).run();
    outcome.succeeds();
    let words: Vec<&str> = outcome.stdout.split_whitespace().collect();
    let ["code", code, "filed", filed] = words[..] else {
        panic!("{outcome}");
    };
    assert_eq!(code, "3", "{outcome}");
    let filed: i64 = filed.parse().unwrap();
    assert!(filed > 3, "{outcome}");
    let said = fs::read_to_string(desk.home.outside("stderr")).unwrap();
    assert!(said.starts_with("kanban: "), "{said}");
    assert!(said.contains("hint: free some space"), "{said}");
    let database = hermes_store::rusqlite::Connection::open(&kept).unwrap();
    let cards: i64 = database
        .query_row("SELECT count(*) FROM tasks", [], |row| row.get(0))
        .unwrap();
    assert_eq!(cards, filed);
    assert_sound(&database);
}
