use pretty_assertions::assert_eq;

use super::*;

/// A home of ours in which everything is older than any stamp wants.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    for directory in ["profiles/coder/skills/x", "cron/output", "workspace/src"] {
        hermes_fs::create_dir_all(&at(directory), 0o700).unwrap();
    }
    for file in [
        "profiles/coder/SOUL.md",
        "profiles/coder/skills/x/SKILL.md",
        "cron/jobs.json",
        "workspace/src/main.rs",
        "config.yaml",
        "notes.txt",
    ] {
        hermes_fs::write_atomic(&at(file), b"x", 0o600).unwrap();
    }
    home
}

fn grow_old(home: &Path) {
    let old = SystemTime::now() - std::time::Duration::from_mins(1);
    hermes_fs::walk::<hermes_fs::Error>(home, &mut |_, entry| {
        let entry = entry?;
        if entry.kind == Kind::Dir {
            let directory = hermes_fs::open(&entry.path)?;
            directory.set_modified(old).unwrap();
        }
        Ok(true)
    })
    .unwrap();
}

fn own_ids(home: &Path) -> (u32, u32) {
    let meta = hermes_fs::metadata(home).unwrap();
    (meta.uid(), meta.gid())
}

#[test]
fn a_second_start_looks_at_directories_only() {
    let home = home();
    let (uid, gid) = own_ids(home.path());
    grow_old(home.path());
    let first = examine(home.path(), uid, gid).unwrap();
    assert_eq!(
        (first.changed, first.refused),
        (0, 0),
        "{:?}",
        first.first_refusal
    );
    let second = examine(home.path(), uid, gid).unwrap();
    // Two files below profiles, one below cron.
    assert_eq!(first.looked_at - second.looked_at, 3);

    // Something new is seen, and nothing but its directory.
    hermes_fs::write_atomic(&home.path().join("cron/output/a"), b"x", 0o600).unwrap();
    let third = examine(home.path(), uid, gid).unwrap();
    assert_eq!(third.looked_at - second.looked_at, 1);
}

#[test]
fn a_forged_record_is_no_trouble() {
    let home = home();
    let (uid, gid) = own_ids(home.path());
    for garbage in ["", "[]", "{\"uid\": -1}", "\u{0}\u{0}"] {
        hermes_fs::write_atomic(&home.path().join(RECORD), garbage.as_bytes(), 0o600).unwrap();
        let owner = examine(home.path(), uid, gid).unwrap();
        assert_eq!(owner.first_refusal, None, "{garbage}");
    }
    // A link in the place of the record, or of what becomes the record, is not followed.
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("target");
    hermes_fs::write_atomic(&target, b"mine", 0o600).unwrap();
    for name in [RECORD.to_owned(), format!("{RECORD}.tmp")] {
        hermes_fs::remove_file_if_present(&home.path().join(&name)).unwrap();
        hermes_fs::symlink(&target, &home.path().join(&name)).unwrap();
    }
    examine(home.path(), uid, gid).unwrap();
    assert_eq!(hermes_fs::read_capped(&target, 64).unwrap(), b"mine");
}

#[test]
fn links_are_not_followed_out_of_the_home() {
    let home = home();
    let (uid, gid) = own_ids(home.path());
    let outside = tempfile::tempdir().unwrap();
    hermes_fs::write_atomic(&outside.path().join("file"), b"x", 0o400).unwrap();
    hermes_fs::symlink(outside.path(), &home.path().join("pairing")).unwrap();
    hermes_fs::symlink(&outside.path().join("file"), &home.path().join("auth.json")).unwrap();
    let owner = examine(home.path(), uid, gid).unwrap();
    assert_eq!(owner.first_refusal, None);
    let meta = hermes_fs::metadata(&outside.path().join("file")).unwrap();
    assert_eq!(meta.mode() & 0o777, 0o400);
}

#[test]
fn own_files_are_known_by_name_and_made_writable() {
    for own in [
        "auth.json",
        ".env",
        "state.db-wal",
        "gateway.lock",
        "config.yaml.1.bak",
    ] {
        assert!(is_own_file(OsStr::new(own)), "{own}");
    }
    for other in ["notes.txt", "my.env", "auth.json.mine", "gatewayx"] {
        assert!(!is_own_file(OsStr::new(other)), "{other}");
    }
    let home = home();
    let (uid, gid) = own_ids(home.path());
    let (config, notes) = (
        home.path().join("config.yaml"),
        home.path().join("notes.txt"),
    );
    for file in [&config, &notes] {
        hermes_fs::set_mode(file, 0o440).unwrap();
    }
    examine(home.path(), uid, gid).unwrap();
    assert_eq!(hermes_fs::metadata(&config).unwrap().mode() & 0o777, 0o640);
    assert_eq!(hermes_fs::metadata(&notes).unwrap().mode() & 0o777, 0o440);
}
