//! `.drain_request.json`: somebody outside asks a gateway to take no new work, until the file is
//! gone.
//!
//! The file outlives a reboot, the request does not: it is stamped with the boot and the first
//! process, and one of another epoch is ignored. A file that cannot be read counts as a request.

use std::path::{Path, PathBuf};

use hermes_proc::identity_of;
use serde_json::{Value, json};

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

    /// Asks the gateway to take no new work, in somebody's name; returns when that was. `quietly`: the
    /// end that follows need not be told to anybody who is not in the middle of a turn.
    pub fn ask(&self, principal: &str, quietly: bool) -> hermes_fs::Result<String> {
        let requested_at = hermes_time::now().timestamp();
        let requested_at = requested_at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00");
        let requested_at = requested_at.to_string();
        let request = json!({
            "action": "drain",
            "requested_at": requested_at,
            "principal": principal,
            "epoch": self.epoch.as_deref().unwrap_or_default(),
            "suppress_notification": quietly,
        });
        hermes_fs::write_atomic(&self.path, request.to_string().as_bytes(), 0o600)?;
        Ok(requested_at)
    }

    /// Takes the request back; whether there was one.
    pub fn cancel(&self) -> hermes_fs::Result<bool> {
        hermes_fs::remove_file_if_present(&self.path)
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
    fn a_request_can_be_made_made_again_and_taken_back() {
        let home = tempfile::tempdir().unwrap();
        let request = DrainRequest::of_home(home.path());
        assert!(!request.cancel().unwrap());
        request.ask("dashboard", false).unwrap();
        let asked = request.ask("dashboard", true).unwrap();
        assert!(request.is_active());
        let text = std::fs::read_to_string(request.path()).unwrap();
        let written: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(written["action"], "drain");
        assert_eq!(written["requested_at"], asked);
        assert_eq!(written["suppress_notification"], true);
        assert!(request.cancel().unwrap());
        assert!(!request.is_active());
    }

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
