//! Where the output of a slot is kept: `logs/gateways/<profile>` below the root.

use std::path::{Path, PathBuf};

use hermes_fs::Directory;
use hermes_home::ProfileName;

/// Makes the directory of a profile's output, never through a link, and clears away the lock of a
/// logger that is gone: on some volumes a lock outlives the machine that held it.
pub(super) fn prepare(root: &Path, profile: &ProfileName) -> hermes_fs::Result<()> {
    let relative = Path::new("logs/gateways").join(profile.as_str());
    let directory = Directory::open(root)?.create_directories(&relative, 0o700)?;
    let lock = Path::new("lock");
    let is_there = directory.metadata(lock).is_ok_and(|meta| meta.is_file());
    if is_there && !is_held(&root.join(&relative).join(lock)) {
        directory.remove_file(lock)?;
    }
    Ok(())
}

/// Whether a process that can be seen from here has the file open.
fn is_held(path: &Path) -> bool {
    let path = hermes_fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let processes = hermes_fs::read_dir(Path::new("/proc")).unwrap_or_default();
    let numbers = processes.iter().filter(|entry| {
        entry
            .name
            .to_str()
            .is_some_and(|name| name.parse::<u32>().is_ok())
    });
    numbers.into_iter().any(|entry| {
        let open = hermes_fs::read_dir(&entry.path.join("fd")).unwrap_or_default();
        let mut targets = open.iter().map(|one| hermes_fs::read_link(&one.path));
        targets.any(|target: hermes_fs::Result<PathBuf>| target.is_ok_and(|target| target == path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coder() -> ProfileName {
        ProfileName::parse("coder").unwrap()
    }

    #[test]
    fn a_lock_is_removed_unless_somebody_has_it_open() {
        let root = tempfile::tempdir().unwrap();
        prepare(root.path(), &coder()).unwrap();
        let lock = root.path().join("logs/gateways/coder/lock");
        let held = hermes_fs::create_new(&lock, 0o600).unwrap();
        prepare(root.path(), &coder()).unwrap();
        assert!(lock.exists());
        drop(held);
        prepare(root.path(), &coder()).unwrap();
        assert!(!lock.exists());
    }

    #[test]
    fn a_link_on_the_way_is_refused() {
        for linked in ["logs", "logs/gateways", "logs/gateways/coder"] {
            let root = tempfile::tempdir().unwrap();
            let outside = tempfile::tempdir().unwrap();
            let link = root.path().join(linked);
            hermes_fs::create_dir_all(link.parent().unwrap(), 0o700).unwrap();
            hermes_fs::symlink(outside.path(), &link).unwrap();
            assert!(prepare(root.path(), &coder()).is_err(), "{linked}");
            let entries = hermes_fs::read_dir(outside.path()).unwrap();
            assert!(entries.is_empty(), "{linked}");
        }
    }
}
