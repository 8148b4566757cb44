//! The log of one background process: the end of what it printed, in a file that does not grow
//! beyond a bound.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Largest size of the file.
pub(super) const LARGEST: usize = 2 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct RingLog {
    path: PathBuf,
    file: File,
    size: usize,
}

impl RingLog {
    pub(super) fn create(path: &Path) -> hermes_fs::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: hermes_fs::open_append(path, 0o600)?,
            size: 0,
        })
    }

    /// Adds bytes; when the file would grow too large, its older half goes first.
    pub(super) fn append(&mut self, bytes: &[u8]) -> hermes_fs::Result<()> {
        if self.size + bytes.len() > LARGEST {
            let kept = self.read();
            let from = kept.len().saturating_sub(LARGEST / 2);
            let half = kept.get(from..).unwrap_or_default();
            hermes_fs::write_atomic_exact(&self.path, half, 0o600)?;
            self.file = hermes_fs::open_append(&self.path, 0o600)?;
            self.size = half.len();
        }
        self.file
            .write_all(bytes)
            .map_err(|source| hermes_fs::Error::Io {
                action: "write",
                path: self.path.clone(),
                source,
            })?;
        self.size += bytes.len();
        Ok(())
    }

    pub(super) fn read(&self) -> Vec<u8> {
        // A log that cannot be read is an empty history; the process goes on.
        hermes_fs::read_capped(&self.path, LARGEST as u64 + 1).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests access files directly")]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_file_stays_small_and_ends_with_the_newest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        let mut log = RingLog::create(&path).unwrap();
        for n in 0..1000 {
            log.append(format!("{n:0>10000}").as_bytes()).unwrap();
            assert!(std::fs::metadata(&path).unwrap().len() <= LARGEST as u64);
        }
        let bytes = log.read();
        assert!(bytes.len() >= LARGEST / 2);
        assert!(bytes.ends_with(b"0999"));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
