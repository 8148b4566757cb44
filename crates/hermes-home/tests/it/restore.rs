//! Restoring full backups, the good and the bad ones.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_home::backup::{Error, Restore, RestoreLimits, RestoreReport, RestoreRequest};
use pretty_assertions::assert_eq;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use zip::write::SimpleFileOptions;

use crate::steps::back_up;
use crate::{database, tree};

fn request(root: &Path) -> RestoreRequest<'_> {
    RestoreRequest {
        root,
        skip_databases: false,
        limits: RestoreLimits::default(),
    }
}

pub(crate) fn restore(zip: &Path, root: &Path) -> Result<RestoreReport, Error> {
    Restore::open(zip)?.apply(&request(root), &mut |_| {})
}

/// The tree without the lock that imports leave.
fn state(root: &Path) -> tree::Tree {
    let mut found = tree::read(root);
    found.remove(".import.lock");
    found
}

fn names(root: &Path) -> Vec<String> {
    state(root).into_keys().collect()
}

/// Writes a zip of these names; a name that ends in `@` is a symbolic link.
fn write_zip(path: &Path, members: &[(&str, &[u8])]) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    let options = SimpleFileOptions::default().unix_permissions(0o644);
    for (name, content) in members {
        if let Some(link) = name.strip_suffix('@') {
            let target = std::str::from_utf8(content).unwrap();
            zip.add_symlink(link, target, options).unwrap();
        } else if let Some(dir) = name.strip_suffix('/') {
            zip.add_directory(dir, options).unwrap();
        } else {
            zip.start_file(*name, options).unwrap();
            zip.write_all(content).unwrap();
        }
    }
    zip.finish().unwrap();
}

#[test]
fn a_backup_beside_a_live_writer_restores_whole_with_modes() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    tree::put(&root, "config.yaml", "a: 1\n");
    tree::put_mode(&root, ".env", "K=v\n", 0o644);
    tree::put_mode(&root, "scripts/run.sh", "#!/bin/sh\n", 0o755);
    tree::put_mode(&root, "SOUL.md", "x", 0o440);
    tree::put(&root, "profiles/a/auth.json", "{}");
    tree::put(&root, "profiles/a/gateway_state.json", "{}");
    std::fs::create_dir_all(root.join("profiles/a/cron/output")).unwrap();
    let mut writer = database::Writer::start(&root.join("state.db"));
    writer.wait_for(50);
    let output = dir.path().join("o.zip");
    let report = back_up(&root, &output);
    assert!(report.is_complete(), "{:?}", report.failed);
    drop(writer);

    let inspection = Restore::open(&output).unwrap().inspect();
    assert_eq!((inspection.files, inspection.databases), (7, 1));
    let new = dir.path().join("new/root");
    let report = restore(&output, &new).unwrap();
    assert_eq!(report.restored, 6);
    assert!(report.is_complete(), "{:?}", report.skipped);
    assert_eq!(report.never_restored, ["profiles/a/gateway_state.json"]);
    let modes: Vec<_> = state(&new)
        .into_iter()
        .map(|(name, (mode, _))| (name, mode))
        .collect();
    let expected = [
        (".env", 0o600),
        ("SOUL.md", 0o440),
        ("config.yaml", 0o600),
        ("profiles/", 0o700),
        ("profiles/a/", 0o700),
        ("profiles/a/auth.json", 0o600),
        ("profiles/a/cron/", 0o700),
        ("profiles/a/cron/output/", 0o700),
        ("scripts/", 0o700),
        ("scripts/run.sh", 0o755),
        ("state.db", 0o600),
    ]
    .map(|(name, mode)| (name.to_owned(), mode));
    assert_eq!(modes, expected);
    assert_eq!(
        hermes_store::integrity_check(&new.join("state.db")).unwrap(),
        hermes_store::Integrity::Sound
    );
    assert!(database::rows(&new.join("state.db")) >= 50);
}

#[test]
fn a_prefix_is_stripped_and_other_files_stay() {
    for prefix in [".hermes/", "hermes/", ""] {
        let dir = tempfile::tempdir().unwrap();
        let zip = dir.path().join("o.zip");
        write_zip(
            &zip,
            &[
                (&format!("{prefix}config.yaml"), b"new"),
                (&format!("{prefix}a/b"), b"new"),
            ],
        );
        let root = dir.path().join("root");
        tree::put(&root, "config.yaml", "old");
        tree::put(&root, "a/mine", "mine");
        let report = restore(&zip, &root).unwrap();
        assert_eq!((report.restored, report.bytes), (2, 6), "{prefix}");
        assert_eq!(names(&root), ["a/", "a/b", "a/mine", "config.yaml"]);
        assert_eq!(std::fs::read(root.join("config.yaml")).unwrap(), b"new");
    }
}

#[test]
fn what_is_no_backup_is_refused_before_anything_is_touched() {
    let dir = tempfile::tempdir().unwrap();
    let zip = dir.path().join("o.zip");
    write_zip(&zip, &[("config.yaml", &[b'x'; 5000])]);
    let whole = std::fs::read(&zip).unwrap();
    for bytes in [
        &b""[..],
        b"PK\x03\x04 not really",
        &whole[..whole.len() / 2],
    ] {
        std::fs::write(&zip, bytes).unwrap();
        let error = Restore::open(&zip).unwrap_err();
        assert!(matches!(error, Error::NotAZip { .. }), "{error}");
    }
    for members in [
        &[("readme.txt", &b"x"[..])][..],
        &[("deep/down/config.yaml", b"x")],
        &[],
    ] {
        write_zip(&zip, members);
        let error = Restore::open(&zip).unwrap_err();
        assert!(matches!(error, Error::NotABackup { .. }), "{error}");
    }
    assert!(Restore::open(Path::new("/no/such.zip")).is_err());
    assert!(Restore::open(dir.path()).is_err());
}

#[test]
fn hostile_and_impossible_members_are_skipped_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let zip = dir.path().join("o.zip");
    let junk = b"certainly not a database, not at all".repeat(10);
    write_zip(
        &zip,
        &[
            ("config.yaml", b"new"),
            ("../evil", b"x"),
            ("a/../../evil", b"x"),
            ("/etc/evil", b"x"),
            ("C:evil", b"x"),
            ("a\\..\\evil", b"x"),
            ("link@", b"/etc/passwd"),
            ("linked/file", b"x"),
            ("linked-file", b"x"),
            ("dir", b"x"),
            ("file/below", b"x"),
            ("twice", b"x"),
            ("./twice", b"x"),
            ("twice/below", b"x"),
            ("junk.db", &junk),
            ("gateway.pid", b"1"),
            ("profiles/a/processes.json", b"1"),
            ("state.db-wal", b"1"),
            (".import.journal", b"{}"),
            ("new/", b""),
        ],
    );
    let root = dir.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let outside = dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, root.join("linked")).unwrap();
    symlink(outside.join("f"), root.join("linked-file")).unwrap();
    std::fs::create_dir(root.join("dir")).unwrap();
    tree::put(&root, "file", "mine");

    let report = restore(&zip, &root).unwrap();
    assert!(!report.is_complete());
    assert_eq!(report.restored, 2);
    let skipped: Vec<_> = report
        .skipped
        .iter()
        .map(|skipped| skipped.path.to_str().unwrap())
        .collect();
    assert_eq!(
        skipped,
        [
            "../evil",
            "a/../../evil",
            "/etc/evil",
            "C:evil",
            "a\\..\\evil",
            "link",
            "linked/file",
            "linked-file",
            "dir",
            "file/below",
            "./twice",
            "twice/below",
            "junk.db",
        ]
    );
    assert!(
        report
            .skipped
            .iter()
            .all(|skipped| !skipped.reason.is_empty())
    );
    assert_eq!(
        report.never_restored,
        [
            "gateway.pid",
            "profiles/a/processes.json",
            "state.db-wal",
            ".import.journal"
        ]
    );
    assert_eq!(tree::names(&outside), Vec::<String>::new());
    assert_eq!(
        names(&root),
        [
            "config.yaml",
            "dir/",
            "file",
            "linked",
            "linked-file",
            "new/",
            "twice"
        ]
    );
    assert_eq!(tree::names(dir.path()).len(), names(&root).len() + 4);
}

#[test]
fn a_damaged_member_is_skipped_and_keeps_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let zip = dir.path().join("o.zip");
    let stored = SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .unix_permissions(0o600);
    let mut writer = zip::ZipWriter::new(std::fs::File::create(&zip).unwrap());
    for (name, content) in [("config.yaml", "FINDME-config"), (".env", "sound")] {
        writer.start_file(name, stored).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    let mut bytes = std::fs::read(&zip).unwrap();
    let at = bytes
        .windows(6)
        .position(|window| window == b"FINDME")
        .unwrap();
    bytes[at] = b'X';
    std::fs::write(&zip, bytes).unwrap();
    let root = dir.path().join("root");
    tree::put(&root, "config.yaml", "old");
    let report = restore(&zip, &root).unwrap();
    assert_eq!(report.restored, 1);
    assert_eq!(report.skipped.len(), 1);
    assert!(report.skipped[0].reason.contains("damaged"), "{report:?}");
    assert_eq!(std::fs::read(root.join("config.yaml")).unwrap(), b"old");
    assert_eq!(names(&root), [".env", "config.yaml"]);
}

#[test]
fn limits_hold_for_what_is_really_unpacked() {
    let dir = tempfile::tempdir().unwrap();
    let zip = dir.path().join("o.zip");
    write_zip(
        &zip,
        &[
            ("config.yaml", b"12345"),
            ("big", &vec![0; 100_000]),
            ("z", b"1"),
        ],
    );
    let root = dir.path().join("root");
    let attempt = |members, member_bytes, total_bytes| {
        let limits = RestoreLimits {
            members,
            member_bytes,
            total_bytes,
        };
        let request = RestoreRequest {
            limits,
            ..request(&root)
        };
        Restore::open(&zip).unwrap().apply(&request, &mut |_| {})
    };
    assert!(matches!(
        attempt(2, 1 << 20, 1 << 20),
        Err(Error::TooManyMembers {
            found: 3,
            limit: 2,
            ..
        })
    ));
    assert!(matches!(
        attempt(3, 1 << 20, 100_004),
        Err(Error::TooLarge { .. })
    ));
    assert_eq!(names(&root), Vec::<String>::new());
    let report = attempt(3, 99_999, 1 << 20).unwrap();
    assert_eq!((report.restored, report.skipped.len()), (2, 1));
    assert_eq!(names(&root), ["config.yaml", "z"]);
}

#[test]
fn databases_can_be_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    tree::put(&root, "config.yaml", "new");
    database::with_rows(&root.join("state.db"), 5);
    let zip = dir.path().join("o.zip");
    back_up(&root, &zip);
    let other = dir.path().join("other");
    database::with_rows(&other.join("state.db"), 1);
    let request = RestoreRequest {
        skip_databases: true,
        ..request(&other)
    };
    let report = Restore::open(&zip)
        .unwrap()
        .apply(&request, &mut |_| {})
        .unwrap();
    assert_eq!(report.restored, 1);
    assert_eq!(report.skipped[0].path, Path::new("state.db"));
    assert!(!report.is_complete());
    assert_eq!(database::rows(&other.join("state.db")), 1);
}

#[test]
fn an_old_log_never_meets_a_restored_database() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    tree::put(&source, "config.yaml", "x");
    database::with_rows(&source.join("state.db"), 7);
    let zip = dir.path().join("o.zip");
    back_up(&source, &zip);

    let root = dir.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let mut writer = database::Writer::start(&root.join("state.db"));
    writer.wait_for(30);
    drop(writer);
    tree::put(&root, "state.db-journal", "");
    assert!(hermes_store::wal_size(&root.join("state.db")).unwrap() > 0);
    restore(&zip, &root).unwrap();
    assert_eq!(names(&root), ["config.yaml", "state.db"]);
    assert_eq!(database::rows(&root.join("state.db")), 7);
    assert_eq!(
        hermes_store::integrity_check(&root.join("state.db")).unwrap(),
        hermes_store::Integrity::Sound
    );
}

#[test]
fn a_damaged_database_does_not_replace_a_sound_one() {
    let dir = tempfile::tempdir().unwrap();
    let bad = dir.path().join("bad.db");
    database::with_rows(&bad, 200);
    let mut bytes = std::fs::read(&bad).unwrap();
    let len = bytes.len();
    bytes[len / 4..len / 2].fill(0xA5);
    let zip = dir.path().join("o.zip");
    write_zip(&zip, &[("config.yaml", b"new"), ("state.db", &bytes)]);
    let root = dir.path().join("root");
    database::with_rows(&root.join("state.db"), 3);
    let report = restore(&zip, &root).unwrap();
    assert_eq!(report.skipped.len(), 1);
    assert!(report.skipped[0].reason.contains("damaged"), "{report:?}");
    assert_eq!(database::rows(&root.join("state.db")), 3);
}

#[test]
fn a_directory_that_cannot_be_written_costs_its_files_only() {
    if hermes_testkit::ran_as_nobody(
        "restore::a_directory_that_cannot_be_written_costs_its_files_only",
    ) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let zip = dir.path().join("o.zip");
    write_zip(
        &zip,
        &[
            ("config.yaml", b"new"),
            ("locked/a", b"new"),
            ("locked/b/c", b"new"),
        ],
    );
    let root = dir.path().join("root");
    tree::put(&root, "locked/a", "old");
    let locked = root.join("locked");
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o500)).unwrap();
    let report = restore(&zip, &root).unwrap();
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!((report.restored, report.skipped.len()), (1, 2));
    assert_eq!(std::fs::read(locked.join("a")).unwrap(), b"old");
}

#[test]
fn restoring_never_leaves_the_home_while_a_directory_turns_into_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let zip = dir.path().join("b.zip");
    let names: Vec<String> = (0..100).map(|n| format!("skills/s{n}/SKILL.md")).collect();
    let mut members: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &b"x"[..])).collect();
    members.push(("config.yaml", b"a: 1\n"));
    write_zip(&zip, &members);
    let root = dir.path().join("root");
    let outside = dir.path().join("outside");
    let link = root.join(".link");
    for made in [&root, &outside, &root.join("skills")] {
        std::fs::create_dir(made).unwrap();
    }
    symlink(&outside, &link).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let swap = RenameFlags::EXCHANGE;
                let skills = root.join("skills");
                let _: rustix::io::Result<()> = renameat_with(CWD, &skills, CWD, &link, swap);
            }
        });
        for _ in 0..40 {
            // Members that meet the link are skipped.
            restore(&zip, &root).unwrap();
            if std::fs::read_dir(&outside).unwrap().next().is_some() {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    let escaped = std::fs::read_dir(&outside).unwrap().count();
    assert_eq!(escaped, 0, "entries beside the home");
}
