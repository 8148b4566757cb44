//! Machines that share a board, and what cards ask of them.

use serde::Serialize;

use crate::host_error::HostError;

/// Heartbeats that a host may miss before it counts as away.
const MISSED: i64 = 3;
/// Longest name of a host, and longest label, in characters.
const LONGEST: usize = 64;

/// A machine on which a dispatcher starts workers, as the board knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Host {
    /// Random, and kept by the installation.
    pub id: String,
    pub name: String,
    pub labels: Vec<String>,
    /// Most cards in progress on it; `None` for no limit.
    pub slots: Option<i64>,
    /// Version of its program.
    pub version: String,
    /// When its dispatcher started.
    pub started_at: i64,
    /// The last heartbeat, by the clock of the board.
    pub heartbeat_at: i64,
    /// Most seconds between two heartbeats.
    pub beat_seconds: i64,
    /// When its dispatcher ended in order.
    pub left_at: Option<i64>,
    /// The directory of its installation.
    pub home: String,
}

impl Host {
    /// Since when the host gives no sign of life; `None` while it does.
    pub fn away_since(&self, now: i64) -> Option<i64> {
        let silent_for = now.saturating_sub(self.heartbeat_at);
        let is_silent = silent_for > self.beat_seconds.max(1).saturating_mul(MISSED);
        self.left_at
            .or_else(|| is_silent.then_some(self.heartbeat_at))
    }

    /// Whether `--on` means this host.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.id == name
    }
}

/// A host as attempts record it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRef {
    pub id: String,
    pub name: String,
}

/// Where a card may be worked on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Labels that the host must have, all of them.
    pub labels: Vec<String>,
    /// Name of the host.
    pub host: Option<String>,
}

impl Placement {
    /// Labels and a name as somebody gave them; each label once.
    pub fn parse<'t>(
        labels: impl IntoIterator<Item = &'t str>,
        host: Option<&str>,
    ) -> Result<Self, HostError> {
        let mut placement = Self::default();
        for label in labels {
            let label = parse_label(label)?;
            if !placement.labels.contains(&label) {
                placement.labels.push(label);
            }
        }
        placement.host = host.map(parse_host_name).transpose()?;
        Ok(placement)
    }

    /// Whether any host will do.
    pub fn is_anywhere(&self) -> bool {
        self.labels.is_empty() && self.host.is_none()
    }
}

/// A label: letters, digits, `.`, `_`, `-`, `=` and `:`.
pub fn parse_label(text: &str) -> Result<String, HostError> {
    let label = text.trim();
    let is_allowed = |char: char| char.is_alphanumeric() || "._-=:".contains(char);
    let fits = (1..=LONGEST).contains(&label.chars().count());
    if fits && label.chars().all(is_allowed) && !label.starts_with('-') {
        Ok(label.to_owned())
    } else {
        Err(HostError::BadLabel {
            shown: crate::shown(label, LONGEST),
        })
    }
}

/// The name of a host: one line of up to 64 characters, without blanks and commas.
pub fn parse_host_name(text: &str) -> Result<String, HostError> {
    let name = text.trim();
    let is_bad = |char: char| char.is_control() || char.is_whitespace() || ",:/".contains(char);
    let fits = (1..=LONGEST).contains(&name.chars().count());
    if fits && !name.contains(is_bad) && !name.starts_with('-') {
        Ok(name.to_owned())
    } else {
        Err(HostError::BadName {
            shown: crate::shown(name, LONGEST),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn labels_and_names_are_checked_and_labels_given_once() {
        let placement = Placement::parse([" gpu ", "zone:eu", "gpu"], Some(" lap ")).unwrap();
        assert_eq!(placement.labels, ["gpu", "zone:eu"]);
        assert_eq!(placement.host.as_deref(), Some("lap"));
        assert!(Placement::parse([], None).unwrap().is_anywhere());
        for bad in ["", "  ", "two words", "a,b", "-x", "x\ny"] {
            assert!(parse_label(bad).is_err(), "{bad:?}");
            assert!(parse_host_name(bad).is_err(), "{bad:?}");
        }
        assert!(parse_label(&"x".repeat(65)).is_err());
    }

    #[test]
    fn a_host_is_away_after_three_missed_heartbeats_or_once_it_left() {
        let host = |left_at| Host {
            id: "a".to_owned(),
            name: "lap".to_owned(),
            labels: Vec::new(),
            slots: None,
            version: String::new(),
            started_at: 0,
            heartbeat_at: 100,
            beat_seconds: 15,
            left_at,
            home: String::new(),
        };
        assert_eq!(host(None).away_since(145), None);
        assert_eq!(host(None).away_since(146), Some(100));
        assert_eq!(host(Some(120)).away_since(121), Some(120));
        assert!(host(None).is_called("lap") && host(None).is_called("a"));
    }
}
