//! Tests about permissions, for which root is no judge.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// User and group that own nothing.
const NOBODY: u32 = 65534;

/// Root may do anything, so a test about permissions runs again as `nobody`. True in the parent,
/// which has nothing left to do. `test` is the full name of the calling test.
pub fn ran_as_nobody(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    // The test binary may lie where only root gets to, so it runs from a copy.
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let copy = place.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let status = Command::new(&copy)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", "/tmp")
        .current_dir(place.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .status()
        .unwrap();
    assert!(status.success(), "{test} failed as an ordinary user");
    true
}
