//! Notes that one process leaves for a gateway before it sends a signal: the signal is meant.
//!
//! Without such a note a gateway takes SIGTERM for an accident, says so with its exit code, and its
//! supervisor starts it again. A note names pid and start time, is valid for a minute and is read
//! once.

use std::path::{Path, PathBuf};

use hermes_proc::ProcessIdentity;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::Result;

/// How long a note is valid, in seconds.
const LIFETIME: i64 = 60;

/// A note is a few hundred bytes.
const LIMIT: u64 = 64 * 1024;

/// What a gateway is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayMarker {
    /// Somebody wants it to stop.
    PlannedStop,
    /// Another gateway takes its place.
    Takeover,
}

/// What a note turned out to be.
enum Note {
    ForUs,
    ForOther,
    /// Malformed or too old: for nobody any more.
    Void,
}

impl GatewayMarker {
    /// The file of the note in a home.
    pub fn path(self, home: &Path) -> PathBuf {
        home.join(match self {
            Self::PlannedStop => ".gateway-planned-stop.json",
            Self::Takeover => ".gateway-takeover.json",
        })
    }

    /// Leaves the note for a gateway.
    pub fn write(self, home: &Path, target: &ProcessIdentity) -> Result<()> {
        let mut note = Map::new();
        note.insert("target_pid".to_owned(), json!(target.pid));
        note.insert("target_start_time".to_owned(), json!(target.start_time));
        let own = json!(std::process::id());
        match self {
            Self::PlannedStop => note.insert("stopper_pid".to_owned(), own),
            Self::Takeover => {
                note.insert("replacer_pid".to_owned(), own);
                let home = home.to_string_lossy();
                note.insert("replacer_hermes_home".to_owned(), json!(home))
            }
        };
        note.insert("written_at".to_owned(), json!(utc_now()));
        let text = Value::Object(note).to_string();
        Ok(hermes_fs::write_atomic_exact(
            &self.path(home),
            text.as_bytes(),
            0o600,
        )?)
    }

    /// Removes the note, whoever it is for.
    pub fn clear(self, home: &Path) -> Result<()> {
        hermes_fs::remove_file_if_present(&self.path(home))?;
        Ok(())
    }

    /// Reads the note and removes it; whether it was for this process. One of a gateway of another
    /// home stays.
    pub fn take(self, home: &Path, own: &ProcessIdentity) -> bool {
        let note = self.read(home, own);
        if matches!(note, Some(Note::ForUs | Note::Void))
            && let Err(error) = self.clear(home)
        {
            // It is void in a minute anyway.
            tracing::debug!(%error, "could not remove a note for the gateway");
        }
        matches!(note, Some(Note::ForUs))
    }

    fn read(self, home: &Path, own: &ProcessIdentity) -> Option<Note> {
        let bytes = hermes_fs::read_optional(&self.path(home), LIMIT);
        let bytes = bytes.ok().flatten()?;
        let Ok(Value::Object(note)) = serde_json::from_slice(&bytes) else {
            return Some(Note::Void);
        };
        let written: Option<Timestamp> = note
            .get("written_at")
            .and_then(Value::as_str)
            .and_then(|text| text.parse().ok());
        let age = written.map(|at| Timestamp::now().as_second() - at.as_second());
        let Some(target) = note.get("target_pid").and_then(Value::as_u64) else {
            return Some(Note::Void);
        };
        if age.is_none_or(|age| age > LIFETIME) {
            return Some(Note::Void);
        }
        let of_home = note.get("replacer_hermes_home").and_then(Value::as_str);
        let same_home = of_home.is_none_or(|theirs| Path::new(theirs) == home);
        let started = note.get("target_start_time").and_then(Value::as_u64);
        let is_ours = same_home
            && target == u64::from(own.pid)
            && started.is_none_or(|started| started == own.start_time);
        Some(if is_ours { Note::ForUs } else { Note::ForOther })
    }
}

/// UTC with offset, as the reference writes it.
pub fn utc_now() -> String {
    Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00")
        .to_string()
}

#[cfg(test)]
#[path = "gateway_marker_tests.rs"]
mod tests;
