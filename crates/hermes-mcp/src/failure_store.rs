//! Servers that could not be asked for their tools, remembered on disk: the next conversations do not
//! wait for them, and each failure in a row makes the pause until the next attempt longer.
//!
//! A note counts for the settings it was made under; it holds no value of them. One that cannot be
//! read counts as none.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::catalog_store;
use crate::config::ServerConfig;

const VERSION: u32 = 1;
const MAX_BYTES: u64 = 64 * 1024;
/// After the first failure; doubled by each that follows.
const FIRST_PAUSE: Duration = Duration::from_mins(1);
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
const MAX_REASON: usize = 500;

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    version: u32,
    server: String,
    salt: String,
    /// The settings, hashed with the salt.
    settings: String,
    failures: u32,
    /// Seconds since 1970.
    at: u64,
    reason: String,
    is_slow: bool,
}

/// What came of the last attempts to ask a server for its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PastFailure {
    pub(crate) reason: String,
    /// Whether the server had not failed, and not answered either, when nobody waited any more.
    pub(crate) is_slow: bool,
    failures: u32,
    at: u64,
}

impl PastFailure {
    /// How long the server is left alone from `now` on; `None` if it is time for the next attempt.
    pub(crate) fn pause_left(&self, now: SystemTime) -> Option<Duration> {
        let doublings = self.failures.saturating_sub(1).min(16);
        let pause = (FIRST_PAUSE * 2_u32.pow(doublings)).min(LONGEST_PAUSE);
        // A clock that was set back makes no pause longer.
        let since = seconds(now).checked_sub(self.at)?;
        let left = pause.checked_sub(Duration::from_secs(since))?;
        (!left.is_zero()).then_some(left)
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

/// The failure that is remembered of a server under these settings.
pub(crate) fn load(home: &Path, server: &ServerConfig) -> Option<PastFailure> {
    let bytes = hermes_fs::read_optional(&path_of(home, server), MAX_BYTES);
    let stored: Stored = serde_json::from_slice(&bytes.ok().flatten()?).ok()?;
    let is_meant = stored.version == VERSION
        && stored.server == server.name
        && stored.settings == server.salted_digest(&stored.salt);
    is_meant.then_some(PastFailure {
        reason: stored.reason,
        is_slow: stored.is_slow,
        failures: stored.failures,
        at: stored.at,
    })
}

/// Remembers one more failure.
pub(crate) fn note(
    home: &Path,
    server: &ServerConfig,
    reason: &str,
    is_slow: bool,
) -> hermes_fs::Result<PastFailure> {
    let failures = load(home, server).map_or(0, |past| past.failures);
    let failure = PastFailure {
        reason: hermes_text::one_line(reason, MAX_REASON),
        is_slow,
        failures: failures.saturating_add(1),
        at: seconds(SystemTime::now()),
    };
    let salt = hermes_fs::random_hex(16);
    let stored = Stored {
        version: VERSION,
        server: server.name.clone(),
        settings: server.salted_digest(&salt),
        salt,
        failures: failure.failures,
        at: failure.at,
        reason: failure.reason.clone(),
        is_slow,
    };
    let path = path_of(home, server);
    if let Some(directory) = path.parent() {
        hermes_fs::create_dir_all(directory, 0o700)?;
    }
    let bytes = serde_json::to_vec(&stored).unwrap_or_default();
    hermes_fs::write_atomic(&path, &bytes, 0o600)?;
    Ok(failure)
}

/// Forgets the failures of a server, so that it is tried again at once; whether there were any.
pub fn forget(home: &Path, server: &ServerConfig) -> hermes_fs::Result<bool> {
    hermes_fs::remove_file_if_present(&path_of(home, server))
}

fn path_of(home: &Path, server: &ServerConfig) -> PathBuf {
    catalog_store::path_of(home, server).with_extension("failed.json")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(token: &str) -> ServerConfig {
        let entry = json!({"command": "x", "env": {"TOKEN": token}});
        ServerConfig::parse("srv", &entry).unwrap()
    }

    #[test]
    fn pauses_grow_up_to_an_hour() {
        let home = tempfile::tempdir().unwrap();
        let server = server("a");
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let failure = note(home.path(), &server, "it ended", false).unwrap();
            let at = UNIX_EPOCH + Duration::from_secs(failure.at);
            pauses.push(failure.pause_left(at).unwrap().as_secs() / 60);
            assert_eq!(load(home.path(), &server), Some(failure));
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        let past = load(home.path(), &server).unwrap();
        let at = UNIX_EPOCH + Duration::from_secs(past.at);
        assert_eq!(past.pause_left(at + LONGEST_PAUSE), None);
        assert_eq!(past.pause_left(at - Duration::from_hours(2)), None);
    }

    #[test]
    fn changed_settings_and_broken_notes_count_as_none() {
        let home = tempfile::tempdir().unwrap();
        note(home.path(), &server("secret-1"), "it ended", false).unwrap();
        // Only the value of a variable differs, which the name of the file does not depend on.
        assert_eq!(load(home.path(), &server("secret-2")), None);
        let path = path_of(home.path(), &server("secret-1"));
        let text = String::from_utf8(hermes_fs::read_capped(&path, MAX_BYTES).unwrap()).unwrap();
        assert!(!text.contains("secret"), "{text}");
        hermes_fs::write_atomic(&path, b"{", 0o600).unwrap();
        assert_eq!(load(home.path(), &server("secret-1")), None);
        assert!(forget(home.path(), &server("secret-1")).unwrap());
    }
}
