//! Tests about permissions, which mean nothing to root.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// User and group without rights, as every Linux has them.
pub(crate) const NOBODY: u32 = 65534;

/// Root may do anything, so a test about permissions runs again as `nobody`. True in the parent,
/// which has nothing left to do. `test` is the full name of the calling test.
pub fn ran_as_nobody(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    // The test binary may lie where only root gets to, so it runs from a copy.
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let copy = directory.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let status = Command::new(&copy)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", "/tmp")
        .current_dir(directory.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .status()
        .unwrap();
    assert!(status.success(), "{test} failed as an ordinary user");
    true
}
