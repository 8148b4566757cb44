//! Files that are removed a day after they were last changed.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

const AGE: Duration = Duration::from_hours(24);

/// Removes old files and sockets of this user from a directory, as far as their names are meant;
/// says how many. Nothing else in the directory is touched.
pub(crate) fn remove_old_files(
    directory: &Path,
    now: SystemTime,
    is_meant: impl Fn(&str) -> bool,
) -> usize {
    // A directory that is not there holds nothing old: the usual case.
    let Ok(directory) = hermes_fs::Directory::open(directory) else {
        return 0;
    };
    let mut removed = 0;
    for entry in directory.entries().unwrap_or_default() {
        let is_old = || {
            let meta = directory.metadata(Path::new(&entry.name)).ok()?;
            let kind = meta.file_type();
            let age = now.duration_since(meta.modified().ok()?).ok()?;
            let is_ours = meta.uid() == rustix::process::geteuid().as_raw();
            Some((kind.is_file() || kind.is_socket()) && is_ours && age > AGE)
        };
        if !entry.name.to_str().is_some_and(&is_meant) || is_old() != Some(true) {
            continue;
        }
        match directory.remove_file(Path::new(&entry.name)) {
            Ok(was_there) => removed += usize::from(was_there),
            Err(error) => tracing::warn!(%error, "an old file stays"),
        }
    }
    removed
}

/// Whether an earlier program kept the state of a session, secrets included, in a file of this name
/// in the temporary directory. We write none.
#[expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "the names of the files written"
)]
pub(crate) fn is_snapshot_name(name: &str) -> bool {
    if let Some(rest) = name.strip_prefix("hermes-snap-") {
        return rest.ends_with(".sh") || rest.contains(".sh.tmp.");
    }
    name.strip_prefix("hermes-cwd-")
        .is_some_and(|rest| rest.ends_with(".txt"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests access files directly")]
    use super::*;

    #[test]
    fn only_old_files_of_these_names_go() {
        let dir = tempfile::tempdir().unwrap();
        let names = [
            ("hermes-snap-0123456789ab.sh", true),
            ("hermes-snap-0123456789ab.sh.tmp.77", true),
            ("hermes-cwd-0123456789ab.txt", true),
            ("hermes-snap-0123456789ab.txt", false),
            ("hermes-other.sh", false),
            ("snap.sh", false),
        ];
        for (name, _) in names {
            std::fs::write(dir.path().join(name), "x").unwrap();
        }
        std::fs::create_dir(dir.path().join("hermes-snap-dir.sh")).unwrap();
        let remove = |now| remove_old_files(dir.path(), now, is_snapshot_name);
        let now = SystemTime::now();
        assert_eq!(remove(now), 0);
        assert_eq!(remove(now + Duration::from_hours(25)), 3);
        for (name, goes) in names {
            assert_eq!(dir.path().join(name).exists(), !goes, "{name}");
        }
        assert!(dir.path().join("hermes-snap-dir.sh").exists());
        let nowhere = dir.path().join("none");
        assert_eq!(remove_old_files(&nowhere, now, |_| true), 0);
    }
}
