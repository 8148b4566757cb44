//! The whole output of installers, for those who want to know more than the message says.

use std::path::{Path, PathBuf};

use hermes_proc::Captured;

/// Logs that are kept.
const KEPT: usize = 10;

/// Writes the output to a file that only the user can read; `None` if that fails, which must not hide
/// why the install did.
pub(super) fn write(home: &Path, feature: &str, time: &str, output: &Captured) -> Option<PathBuf> {
    let directory = home.join("logs/addons");
    let path = directory.join(format!("install-{feature}-{time}.log"));
    let mut text = b"== standard error\n".to_vec();
    text.extend(&output.stderr);
    text.extend(b"\n== standard output\n");
    text.extend(&output.stdout);
    let written = hermes_fs::create_dir_all(&directory, 0o700)
        .and_then(|()| hermes_fs::write_atomic_exact(&path, &text, 0o600));
    if let Err(error) = written {
        tracing::warn!(%error, "the log of an install could not be written");
        return None;
    }
    prune(&directory);
    Some(path)
}

/// Removes all but the newest logs.
fn prune(directory: &Path) {
    let is_log = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("install-");
    let Ok(mut logs) = hermes_fs::read_dir_named(directory, is_log) else {
        return;
    };
    let age = |path: &Path| {
        hermes_fs::metadata(path).and_then(|meta| {
            meta.modified()
                .map_err(hermes_fs::Error::io("look at", path))
        })
    };
    logs.sort_by_cached_key(|entry| age(&entry.path).ok());
    let surplus = logs.len().saturating_sub(KEPT);
    for old in logs.iter().take(surplus) {
        if let Err(error) = hermes_fs::remove_file_if_present(&old.path) {
            tracing::debug!(%error, "an old log stays");
        }
    }
}
