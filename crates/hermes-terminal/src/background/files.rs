//! The files of one supervised process: log, exit record and socket.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ring::LARGEST;

pub(super) struct Files {
    pub(super) log: PathBuf,
    exit: PathBuf,
    pub(super) socket: PathBuf,
}

impl Files {
    pub(super) fn of(directory: &Path, id: &str) -> Self {
        let file = |suffix: &str| directory.join(format!("{id}.{suffix}"));
        Self {
            log: file("log"),
            exit: file("exit"),
            socket: file("sock"),
        }
    }

    /// Removes what is there; the process is not remembered any more.
    pub(super) fn remove(&self) {
        for path in [&self.log, &self.exit, &self.socket] {
            if let Err(error) = hermes_fs::remove_file_if_present(path) {
                tracing::debug!(%error, "could not remove a file of an old process");
            }
        }
    }

    /// The end of what the process printed.
    pub(super) fn read_log(&self) -> hermes_fs::Result<Vec<u8>> {
        hermes_fs::read_capped(&self.log, LARGEST as u64)
    }

    pub(super) fn read_exit(&self) -> Option<ExitRecord> {
        let bytes = hermes_fs::read_capped(&self.exit, 4096).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub(super) fn write_exit(&self, record: &ExitRecord) -> std::io::Result<()> {
        let bytes = serde_json::to_vec(record)?;
        hermes_fs::write_atomic_exact(&self.exit, &bytes, 0o600).map_err(std::io::Error::other)
    }
}

/// What a supervisor writes down about the end of its process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExitRecord {
    pub(super) exit_code: i32,
    /// Seconds since 1970.
    #[serde(default)]
    pub(super) finished_at: f64,
    /// How many of the last bytes in the log nobody has been told.
    #[serde(default)]
    pub(super) unheard_bytes: usize,
}
