//! Full backups and quick snapshots.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use hermes_home::backup::{
    BackupProgress, BackupRequest, Error, OversizedFile, QuickReport, QuickRequest, create_full,
    create_quick,
};
use pretty_assertions::assert_eq;

use crate::steps::back_up;
use crate::{database, tree};

/// Names in a zip, with their modes.
fn zip_names(path: &Path) -> BTreeMap<String, u32> {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    (0..archive.len())
        .map(|index| {
            let member = archive.by_index(index).unwrap();
            let name = member.name().unwrap().into_owned();
            (name, member.unix_mode().unwrap() & 0o7777)
        })
        .collect()
}

#[test]
fn a_full_backup_holds_what_it_should_and_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    tree::put(&root, "config.yaml", "a: 1\n");
    tree::put(&root, ".env", "K=v\n");
    tree::put_mode(&root, "scripts/run.sh", "#!/bin/sh\n", 0o755);
    tree::put_mode(&root, "SOUL.md", "x", 0o640);
    tree::put(&root, "profiles/a/SOUL.md", "y");
    tree::put(&root, "workspace/hermes-agent/kept", "x");
    std::fs::create_dir_all(root.join("cron/output")).unwrap();
    for excluded in [
        "hermes-agent/x",
        "skills/a/__pycache__/m.pyc",
        "skills/a/m.pyo",
        "workspace/.git/HEAD",
        "workspace/node_modules/x",
        "backups/old.zip",
        "checkpoints/x",
        "profiles/a/lazy-packages/x",
        "gateway.pid",
        "cron.pid",
        "profiles/a/gateway.lock",
        "stray.db-journal",
        ".import.tmp-1/x",
        ".import.lock",
    ] {
        tree::put(&root, excluded, "x");
    }
    symlink("config.yaml", root.join("link")).unwrap();
    tree::fifo(&root.join("pipe"));
    drop(std::os::unix::net::UnixListener::bind(root.join("sock")).unwrap());
    database::with_rows(&root.join("state.db"), 3);
    // Inside the root, to see that neither it nor its working directory is taken along.
    let output = root.join("workspace/out.zip");
    let request = BackupRequest {
        root: &root,
        output: &output,
        max_file_bytes: None,
    };
    let mut seen: Vec<BackupProgress> = Vec::new();
    let report = create_full(&request, &mut |progress| seen.push(progress)).unwrap();

    let expected = [
        (".env", 0o600),
        ("SOUL.md", 0o640),
        ("config.yaml", 0o600),
        ("cron/output/", 0o755),
        ("profiles/a/SOUL.md", 0o600),
        ("scripts/run.sh", 0o755),
        ("skills/a/", 0o755),
        ("state.db", 0o600),
        ("workspace/hermes-agent/kept", 0o600),
    ]
    .map(|(name, mode)| (name.to_owned(), mode));
    assert_eq!(zip_names(&output), BTreeMap::from(expected));
    assert_eq!(tree::mode(&output), 0o600);
    assert!(report.is_complete());
    assert_eq!(report.files, 7);
    assert_eq!(report.size, std::fs::metadata(&output).unwrap().len());
    let last = seen.last().unwrap();
    assert_eq!((last.files_done, last.files_total), (7, 7));
    assert!(seen.iter().all(|now| now.files_done <= now.files_total));
    let left: Vec<_> = tree::names(&root.join("workspace"))
        .into_iter()
        .filter(|name| name.contains("tmp-"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn files_over_the_cap_are_listed_and_do_not_make_it_incomplete() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    tree::put(&root, "config.yaml", "a: 1\n");
    tree::put(&root, "big.bin", [0; 1001]);
    tree::put(&root, "fits.bin", [0; 1000]);
    let output = dir.path().join("o.zip");
    let request = BackupRequest {
        root: &root,
        output: &output,
        max_file_bytes: Some(1000),
    };
    let report = create_full(&request, &mut |_| {}).unwrap();
    let big = OversizedFile {
        path: PathBuf::from("big.bin"),
        size: 1001,
    };
    assert_eq!(report.too_large, [big]);
    assert!(report.is_complete());
    assert_eq!(report.files, 2);
}

#[test]
fn what_cannot_be_backed_up_makes_it_incomplete_and_the_rest_is_there() {
    if hermes_testkit::ran_as_nobody(
        "backup::what_cannot_be_backed_up_makes_it_incomplete_and_the_rest_is_there",
    ) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    tree::put(&root, "config.yaml", "a: 1\n");
    tree::put(
        &root,
        "broken.db",
        "this is not a database, whatever its name says",
    );
    tree::put_mode(&root, "secret", "x", 0o000);
    tree::put(&root, "back\\slash", "x");
    tree::put(&root, "locked/f", "x");
    let locked = root.join("locked");
    std::fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let output = dir.path().join("o.zip");
    let report = back_up(&root, &output);
    std::fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    assert!(!report.is_complete());
    let failed: Vec<_> = report
        .failed
        .iter()
        .map(|failed| failed.path.to_str().unwrap())
        .collect();
    assert_eq!(failed, ["back\\slash", "broken.db", "locked", "secret"]);
    assert!(report.failed[1].reason.contains("not an SQLite database"));
    assert_eq!(
        zip_names(&output).into_keys().collect::<Vec<_>>(),
        ["config.yaml"]
    );
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    tree::put(&root, "config.yaml", "a: 1\n");
    for output in [Path::new("/no/such/dir/o.zip"), dir.path()] {
        let request = BackupRequest {
            root: &root,
            output,
            max_file_bytes: None,
        };
        let error = create_full(&request, &mut |_| {}).unwrap_err();
        assert!(matches!(error, Error::File(_)), "{error}");
    }
    let request = BackupRequest {
        root: &dir.path().join("gone"),
        output: &dir.path().join("o.zip"),
        max_file_bytes: None,
    };
    assert!(create_full(&request, &mut |_| {}).is_err());
    assert_eq!(tree::names(dir.path()), ["root/", "root/config.yaml"]);
}

fn quick(home: &Path, label: Option<&str>, second: i64) -> Result<QuickReport, Error> {
    create_quick(&QuickRequest {
        home,
        label,
        now: jiff::Timestamp::from_second(1_767_225_600 + second).unwrap(),
    })
}

#[test]
fn a_quick_snapshot_holds_the_state_and_a_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    tree::put_mode(&home, "config.yaml", "a: 1\n", 0o644);
    tree::put(&home, ".env", "K=v\n");
    tree::put(&home, "SOUL.md", "not taken");
    tree::put(&home, "platforms/pairing/telegram.json", "{}");
    tree::put(&home, "kanban/boards/main/board.json", "{}");
    tree::put(&home, "kanban/boards/main/workspaces/t1/big", "x");
    tree::put(&home, "kanban/boards/main/attachments/t1/a", "x");
    symlink("/etc/hostname", home.join("auth.json")).unwrap();
    database::with_rows(&home.join("kanban/boards/main/kanban.db"), 2);
    let mut open = database::open(&home.join("state.db"));
    database::add_row(&mut open);

    let report = quick(&home, Some("before-update"), 0).unwrap();
    assert_eq!(report.id, "20260101-000000-before-update");
    assert_eq!(report.path, home.join("state-snapshots").join(&report.id));
    assert_eq!(report.failed.len(), 1, "a link is not this home's file");
    assert_eq!(report.failed[0].path, Path::new("auth.json"));
    let found = tree::read(&report.path);
    let files: Vec<_> = found.keys().filter(|name| !name.ends_with('/')).collect();
    assert_eq!(
        files,
        [
            ".env",
            "config.yaml",
            "kanban/boards/main/board.json",
            "kanban/boards/main/kanban.db",
            "manifest.json",
            "platforms/pairing/telegram.json",
            "state.db",
        ]
    );
    for (name, (mode, _)) in &found {
        let expected = if name.ends_with('/') { 0o700 } else { 0o600 };
        assert_eq!(*mode, expected, "{name}");
    }
    assert_eq!(database::rows(&report.path.join("state.db")), 1);
    let manifest: serde_json::Value = serde_json::from_slice(&found["manifest.json"].1).unwrap();
    assert_eq!(manifest["id"], "20260101-000000-before-update");
    assert_eq!(manifest["timestamp"], "20260101-000000");
    assert_eq!(manifest["label"], "before-update");
    assert_eq!(manifest["file_count"], 6);
    assert_eq!(manifest["files"]["config.yaml"], 5);
    let sum: u64 = manifest["files"]
        .as_object()
        .unwrap()
        .values()
        .map(|size| size.as_u64().unwrap())
        .sum();
    assert_eq!(manifest["total_size"], sum);
}

#[test]
fn twenty_snapshots_are_kept_and_nothing_else_is_pruned() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    tree::put(&home, "config.yaml", "a: 1\n");
    tree::put(&home, "state-snapshots/mine/keep", "x");
    tree::put(&home, "state-snapshots/.2026.tmp-1/left-over", "x");
    for second in 0..22 {
        quick(&home, None, second).unwrap();
    }
    // Twice in one second.
    let again = quick(&home, None, 21).unwrap();
    assert_eq!(again.id, "20260101-000021-2");
    assert_eq!(again.pruned, ["20260101-000002"]);
    let mut names: Vec<_> = std::fs::read_dir(home.join("state-snapshots"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 22);
    assert_eq!(names[0], ".lock");
    assert_eq!(names[1], "20260101-000003");
    assert_eq!(names[21], "mine");
}

#[test]
fn bad_labels_and_empty_homes_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    tree::put(&home, "config.yaml", "a: 1\n");
    for label in ["", "../x", "A", "a b", "-a", &"a".repeat(65)] {
        let error = quick(&home, Some(label), 0).unwrap_err();
        assert!(matches!(error, Error::BadLabel { .. }), "{label}: {error}");
    }
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let error = quick(&empty, None, 0).unwrap_err();
    assert!(matches!(error, Error::NothingToSnapshot { .. }));
    assert_eq!(
        tree::names(&empty),
        ["state-snapshots/", "state-snapshots/.lock"]
    );
}
