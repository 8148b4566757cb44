//! `.drain_request.json`: somebody outside asks a gateway to take no new work, until the file is
//! gone.
//!
//! The file outlives a reboot, the request does not: it is stamped with the boot and the first
//! process, and one of another epoch is ignored. A file that cannot be read counts as a request.

use std::path::{Path, PathBuf};

use hermes_proc::identity_of;
use serde_json::Value;

const LIMIT: u64 = 64 * 1024;

/// The request of a home.
#[derive(Debug)]
pub struct DrainRequest {
    path: PathBuf,
    epoch: Option<String>,
}

impl DrainRequest {
    /// The request of a home, as this boot sees it.
    pub fn of_home(home: &Path) -> Self {
        let first = identity_of(1);
        Self {
            path: home.join(".drain_request.json"),
            epoch: first.map(|first| format!("{}:{}", first.boot_id, first.start_time)),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the gateway is asked to take no new work.
    pub fn is_active(&self) -> bool {
        let bytes = match hermes_fs::read_optional(&self.path, LIMIT) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return false,
            Err(_) => return true,
        };
        let request: Option<Value> = serde_json::from_slice(&bytes).ok();
        let stamp = request.and_then(|request| Some(request.get("epoch")?.as_str()?.to_owned()));
        match (stamp.filter(|stamp| !stamp.is_empty()), &self.epoch) {
            (Some(stamp), Some(epoch)) => stamp == *epoch,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests access files directly")]

    use super::*;

    #[test]
    fn requests_of_this_boot_count_and_garbage_does_too() {
        let home = tempfile::tempdir().unwrap();
        let request = DrainRequest::of_home(home.path());
        assert!(!request.is_active());
        let epoch = request.epoch.clone().unwrap();
        for (text, active) in [
            (format!("{{\"epoch\":\"{epoch}\"}}"), true),
            ("{\"epoch\":\"other:1\"}".to_owned(), false),
            ("{}".to_owned(), true),
            ("garbage".to_owned(), true),
        ] {
            std::fs::write(request.path(), &text).unwrap();
            assert_eq!(request.is_active(), active, "{text}");
        }
    }
}
