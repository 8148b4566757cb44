//! Files that are not what they should be: looked at without SQLite, kept, never changed.

use std::os::unix::fs::PermissionsExt;

use hermes_store::{Header, keep_damaged_copy, read_header};
use pretty_assertions::assert_eq;

use crate::{mode, numbers};

#[test]
fn the_first_bytes_tell_what_a_file_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    assert_eq!(read_header(&path).unwrap(), Header::Fresh);
    std::fs::write(&path, "").unwrap();
    assert_eq!(read_header(&path).unwrap(), Header::Fresh);
    std::fs::write(&path, "hello").unwrap();
    assert_eq!(
        read_header(&path).unwrap(),
        Header::Foreign {
            first: b"hello".to_vec()
        }
    );
    std::fs::remove_file(&path).unwrap();
    let database = numbers(&path);
    assert_eq!(read_header(&path).unwrap(), Header::InUse);
    drop(database);
    assert_eq!(read_header(&path).unwrap(), Header::Sqlite);
}

#[test]
fn the_same_damage_is_kept_once_and_other_damage_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    std::fs::write(&path, "damaged").unwrap();
    std::fs::write(dir.path().join("a.db-wal"), "log").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let first = keep_damaged_copy(&path).unwrap().unwrap();
    for _ in 0..3 {
        assert_eq!(keep_damaged_copy(&path).unwrap().as_ref(), Some(&first));
    }
    assert_eq!(std::fs::read(&first).unwrap(), b"damaged");
    assert_eq!(mode(&first), 0o600);
    assert_eq!(
        first.file_name().unwrap().to_str().unwrap(),
        "a.db.corrupt.41f0c27c00e8018f.bak"
    );
    std::fs::write(&path, "damaged more").unwrap();
    let second = keep_damaged_copy(&path).unwrap().unwrap();
    assert_ne!(first, second);
    let mut names: Vec<String> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 6, "{names:?}");
}

#[test]
fn a_file_in_use_is_not_copied_by_plain_means() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let database = numbers(&path);
    assert_eq!(keep_damaged_copy(&path).unwrap(), None);
    drop(database);
    assert!(keep_damaged_copy(&path).unwrap().is_some());
}
