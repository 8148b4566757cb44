//! One process and what others may do to its file meanwhile.

#![allow(clippy::disallowed_methods, reason = "tests access files directly")]

use std::fs;

use pretty_assertions::assert_eq;

use super::*;

fn file(dir: &Path, max_bytes: u64, backups: u32) -> RotatingFile {
    RotatingFile::new(dir.join("logs/x.log"), Rotation { max_bytes, backups })
}

fn contents(dir: &Path) -> Vec<(String, String)> {
    let mut found: Vec<_> = fs::read_dir(dir.join("logs"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| !entry.file_name().to_string_lossy().ends_with(".lock"))
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                fs::read_to_string(entry.path()).unwrap(),
            )
        })
        .collect();
    found.sort();
    found
}

fn named(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|&(name, text)| (name.to_owned(), text.to_owned()))
        .collect()
}

#[test]
fn old_files_move_up_and_the_oldest_goes() {
    let dir = tempfile::tempdir().unwrap();
    let log = file(dir.path(), 4, 2);
    for record in ["a1\n", "b2\n", "c3\n", "d4\n"] {
        log.append(record.as_bytes()).unwrap();
    }
    assert_eq!(
        contents(dir.path()),
        named(&[("x.log", "d4\n"), ("x.log.1", "c3\n"), ("x.log.2", "b2\n")])
    );
}

#[test]
fn nothing_exists_before_the_first_record_and_all_is_private_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let log = file(dir.path(), 4, 2);
    assert!(!dir.path().join("logs").exists());
    log.append(b"a1\n").unwrap();
    log.append(b"b2\n").unwrap();
    let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().mode() & 0o777;
    assert_eq!(mode("logs"), 0o700);
    for name in ["logs/x.log", "logs/x.log.1", "logs/x.log.lock"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
}

#[test]
fn a_file_open_to_others_is_closed_to_them() {
    let dir = tempfile::tempdir().unwrap();
    let log = file(dir.path(), 0, 0);
    fs::create_dir(dir.path().join("logs")).unwrap();
    let path = dir.path().join("logs/x.log");
    fs::write(&path, "old\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    log.append(b"new\n").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old\nnew\n");
}

#[test]
fn zero_size_or_zero_backups_never_rotate() {
    for (max_bytes, backups) in [(0, 3), (4, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let log = file(dir.path(), max_bytes, backups);
        log.append(b"a1\n").unwrap();
        log.append(b"b2\n").unwrap();
        assert_eq!(contents(dir.path()), named(&[("x.log", "a1\nb2\n")]));
    }
}

#[test]
fn a_file_rotated_or_removed_by_another_process_is_left_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let log = file(dir.path(), 0, 0);
    log.append(b"a1\n").unwrap();
    let path = dir.path().join("logs/x.log");
    fs::rename(&path, rotated(&path, 1)).unwrap();
    fs::write(&path, "theirs\n").unwrap();
    log.append(b"b2\n").unwrap();
    assert_eq!(
        contents(dir.path()),
        named(&[("x.log", "theirs\nb2\n"), ("x.log.1", "a1\n")])
    );
    fs::remove_file(&path).unwrap();
    log.append(b"c3\n").unwrap();
    assert_eq!(
        contents(dir.path()),
        named(&[("x.log", "c3\n"), ("x.log.1", "a1\n")])
    );
}

#[test]
fn a_record_written_to_a_nameless_file_is_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let log = file(dir.path(), 0, 0);
    log.append(b"a1\n").unwrap();
    let path = dir.path().join("logs/x.log");
    let mut state = log.state.lock().unwrap();
    fs::remove_file(&path).unwrap();
    assert!(!log.write(&mut state, b"b2\n").unwrap());
    assert!(state.open.is_none());
}

#[test]
fn while_another_rotates_records_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let log = file(dir.path(), 4, 2);
    log.append(b"a1\n").unwrap();
    let held = FileLock::acquire(&log.lock_path, &LockOptions::new("test")).unwrap();
    log.append(b"b2\n").unwrap();
    assert_eq!(contents(dir.path()), named(&[("x.log", "a1\nb2\n")]));
    drop(held);
    log.append(b"c3\n").unwrap();
    assert_eq!(
        contents(dir.path()),
        named(&[("x.log", "c3\n"), ("x.log.1", "a1\nb2\n")])
    );
}

#[test]
fn a_rotation_cut_off_in_the_middle_leaves_a_gap_that_the_next_one_fills() {
    let dir = tempfile::tempdir().unwrap();
    let log = file(dir.path(), 4, 3);
    log.append(b"c3\n").unwrap();
    let path = dir.path().join("logs/x.log");
    fs::write(rotated(&path, 2), "b2\n").unwrap();
    fs::write(rotated(&path, 3), "a1\n").unwrap();
    log.append(b"d4\n").unwrap();
    assert_eq!(
        contents(dir.path()),
        named(&[
            ("x.log", "d4\n"),
            ("x.log.1", "c3\n"),
            ("x.log.2", "b2\n"),
            ("x.log.3", "a1\n")
        ])
    );
}

#[test]
fn a_torn_record_does_not_swallow_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let log = file(dir.path(), 0, 0);
    log.append(b"half").unwrap();
    log.state.lock().unwrap().torn = true;
    log.append(b"whole\n").unwrap();
    assert_eq!(contents(dir.path()), named(&[("x.log", "half\nwhole\n")]));
}

#[test]
fn links_fifos_and_vanished_homes_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("logs")).unwrap();
    let log = file(dir.path(), 0, 0);
    let path = dir.path().join("logs/x.log");
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    assert!(log.append(b"a\n").is_err());
    let gone = file(&dir.path().join("gone"), 0, 0);
    assert!(gone.append(b"a\n").is_err());
    assert!(!dir.path().join("gone").exists());
}
