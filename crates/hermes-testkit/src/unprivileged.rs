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
    let output = Command::new(&copy)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", "/tmp")
        .current_dir(directory.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    // A binary that knows no test of this name is content as well.
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{test} failed as an ordinary user: {told}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    true
}
