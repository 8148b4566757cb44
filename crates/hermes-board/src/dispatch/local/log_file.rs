//! The file that takes what workers of a card print.

use std::fs::File;
use std::path::{Path, PathBuf};

/// When a log is put aside, and how many of them are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRotation {
    /// A log that is larger when a worker starts is put aside.
    pub bytes: u64,
    /// How many are kept; with none, a log that is too large is deleted.
    pub backups: u32,
}

impl Default for LogRotation {
    fn default() -> Self {
        Self {
            bytes: 2 * 1024 * 1024,
            backups: 1,
        }
    }
}

/// Opens the log of a card for its next worker.
pub(super) fn open_log(path: &Path, rotation: LogRotation) -> hermes_fs::Result<File> {
    if let Some(directory) = path.parent() {
        hermes_fs::create_dir_all(directory, 0o700)?;
    }
    if let Err(error) = rotate(path, rotation) {
        // A log that cannot be put aside grows on; that is no reason not to work.
        tracing::warn!(%error, "could not rotate the log of a worker");
    }
    hermes_fs::open_append(path, 0o600)
}

fn rotate(path: &Path, rotation: LogRotation) -> hermes_fs::Result<()> {
    let size = match hermes_fs::metadata(path) {
        Ok(meta) => meta.len(),
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error),
    };
    if size <= rotation.bytes {
        return Ok(());
    }
    if rotation.backups == 0 {
        return hermes_fs::remove_file(path);
    }
    for number in (1..rotation.backups).rev() {
        let from = numbered(path, number);
        if from.exists() {
            hermes_fs::rename_unsynced(&from, &numbered(path, number + 1))?;
        }
    }
    hermes_fs::rename_unsynced(path, &numbered(path, 1))
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    path.with_added_extension(number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::io::Write;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests access files directly")]
    fn large_logs_move_on_and_the_oldest_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logs/t_1.log");
        let write = |text: &str, backups| {
            let rotation = LogRotation { bytes: 3, backups };
            write!(open_log(&path, rotation).unwrap(), "{text}").unwrap();
        };
        let read = |name: &str| std::fs::read_to_string(dir.path().join("logs").join(name)).ok();
        write("one", 2);
        write("+", 2);
        assert_eq!(read("t_1.log").unwrap(), "one+");
        write("two.", 2);
        assert_eq!(read("t_1.log.1").unwrap(), "one+");
        write("three", 2);
        write("four", 2);
        assert_eq!(read("t_1.log").unwrap(), "four");
        assert_eq!(read("t_1.log.1").unwrap(), "three");
        assert_eq!(read("t_1.log.2").unwrap(), "two.");
        assert_eq!(read("t_1.log.3"), None);
        write("five", 0);
        assert_eq!(read("t_1.log").unwrap(), "five");
        assert_eq!(read("t_1.log.1").unwrap(), "three");
    }
}
