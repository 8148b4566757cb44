//! Files in which earlier programs kept the state of sessions, secrets included.
//!
//! We write none. Those of the same user that are older than a day are removed; nothing else in the
//! temporary directory is touched.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use hermes_fs::{Entry, Kind};

const AGE: Duration = Duration::from_hours(24);

/// Removes old `hermes-snap-*.sh`, `hermes-snap-*.sh.tmp.*` and `hermes-cwd-*.txt` of this user from
/// the temporary directory; says how many.
pub(crate) fn remove_leftover_snapshots(temp_dir: &Path, now: SystemTime) -> usize {
    let entries = match hermes_fs::read_dir(temp_dir) {
        Ok(entries) => entries,
        Err(error) => {
            tracing::debug!(%error, "no look at old session files");
            return 0;
        }
    };
    let mut removed = 0;
    for entry in entries.iter().filter(|entry| is_leftover(entry, now)) {
        match hermes_fs::remove_file_if_present(&entry.path) {
            Ok(true) => removed += 1,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "an old session file stays"),
        }
    }
    removed
}

fn is_leftover(entry: &Entry, now: SystemTime) -> bool {
    let named = entry.name.to_str().is_some_and(is_snapshot_name);
    if !named || entry.kind != Kind::File {
        return false;
    }
    let Ok(meta) = hermes_fs::symlink_metadata(&entry.path) else {
        return false;
    };
    let is_old = meta
        .modified()
        .ok()
        .and_then(|modified| now.duration_since(modified).ok())
        .is_some_and(|age| age > AGE);
    is_old && meta.uid() == rustix::process::geteuid().as_raw()
}

#[expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "these are the names that were written"
)]
fn is_snapshot_name(name: &str) -> bool {
    if let Some(rest) = name.strip_prefix("hermes-snap-") {
        return rest.ends_with(".sh") || rest.contains(".sh.tmp.");
    }
    name.strip_prefix("hermes-cwd-")
        .is_some_and(|rest| rest.ends_with(".txt"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests look at files directly")]
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
        let now = SystemTime::now();
        assert_eq!(remove_leftover_snapshots(dir.path(), now), 0);
        let tomorrow = now + Duration::from_hours(25);
        assert_eq!(remove_leftover_snapshots(dir.path(), tomorrow), 3);
        for (name, goes) in names {
            assert_eq!(dir.path().join(name).exists(), !goes, "{name}");
        }
        assert!(dir.path().join("hermes-snap-dir.sh").exists());
    }
}
