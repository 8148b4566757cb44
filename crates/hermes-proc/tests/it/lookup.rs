//! Finding programs.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use hermes_proc::find_on_path;
use pretty_assertions::assert_eq;

#[test]
fn the_first_executable_file_wins() {
    let dir = tempfile::tempdir().unwrap();
    for (sub, mode) in [("a", 0o644), ("b", 0o755), ("c", 0o755)] {
        std::fs::create_dir(dir.path().join(sub)).unwrap();
        let tool = dir.path().join(sub).join("tool");
        std::fs::write(&tool, "").unwrap();
        std::fs::set_permissions(&tool, PermissionsExt::from_mode(mode)).unwrap();
    }
    // A directory of that name is no program.
    std::fs::create_dir_all(dir.path().join("0/tool")).unwrap();
    let path = ["0", "a", "b", "c"].map(|sub| dir.path().join(sub));
    let value = std::env::join_paths(path).unwrap();
    assert_eq!(
        find_on_path(OsStr::new("tool"), Some(&value)),
        Some(dir.path().join("b/tool"))
    );
    assert_eq!(find_on_path(OsStr::new("nope"), Some(&value)), None);
    assert_eq!(find_on_path(OsStr::new(""), Some(&value)), None);
    assert_eq!(find_on_path(OsStr::new("tool"), None), None);
    let direct = dir.path().join("c/tool");
    assert_eq!(find_on_path(direct.as_os_str(), None), Some(direct.clone()));
}

#[test]
fn the_current_directory_is_not_searched() {
    // The test runs in the crate's directory; `build-me` would be found through "" or ".".
    assert!(PathBuf::from("Cargo.toml").exists());
    for value in ["", ":", ".", "src:"] {
        assert_eq!(
            find_on_path(OsStr::new("Cargo.toml"), Some(OsStr::new(value))),
            None
        );
    }
}
