//! Files no tool shows: where Hermes keeps its credentials, and where the kernel shows the
//! environment and memory of running processes.
//!
//! Defence in depth, not a boundary: a command can read what its user can read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Files of a home.
const FILES: &[&str] = &[
    ".env",
    ".anthropic_oauth.json",
    "auth.json",
    "auth.lock",
    "webhook_subscriptions.json",
];
/// Directories of a home.
const DIRECTORIES: &[&str] = &["mcp-tokens", "pairing"];
/// Below `/proc/<pid>`.
const PROCESS_FILES: &[&str] = &[
    "environ", "mem", "auxv", "maps", "smaps", "pagemap", "kcore",
];

/// The places of one call.
pub(super) struct CredentialStores {
    homes: Vec<PathBuf>,
}

impl CredentialStores {
    /// Those of these homes, whose paths are without links.
    pub(super) fn new(homes: Vec<PathBuf>) -> Self {
        Self { homes }
    }

    /// Why a file is not shown, if so. `path` is absolute and without links.
    pub(super) fn refusal(&self, path: &Path) -> Option<String> {
        let shown = path.display();
        if self.holds(path) {
            return Some(format!(
                "{shown} holds credentials of Hermes and is not shown. Use the variables and tools \
                 of the session instead."
            ));
        }
        if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
            return Some(format!("{shown} is a device, which has no end to read to."));
        }
        let last = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let inside_a_process = path.starts_with("/proc")
            && (PROCESS_FILES.contains(&last)
                || path.components().any(|part| part.as_os_str() == "fd"));
        inside_a_process.then(|| format!("{shown} shows the inside of a process and is not read."))
    }

    fn holds(&self, path: &Path) -> bool {
        self.homes.iter().any(|home| {
            path.strip_prefix(home).is_ok_and(|below| {
                FILES.iter().any(|file| below == Path::new(file))
                    || DIRECTORIES.iter().any(|dir| below.starts_with(dir))
            })
        })
    }
}

/// The path without links on this machine; what does not exist is judged by its name.
pub(super) fn real(path: &Path) -> PathBuf {
    hermes_fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
