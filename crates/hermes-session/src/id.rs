//! Ids of sessions and messages.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use serde::Serialize;

use crate::error::display_text;
use crate::{Error, Result};

/// Longest accepted id, in bytes. Ids of chats contain the names of platforms and rooms.
const MAX_BYTES: usize = 255;

/// The id of a session: `YYYYMMDD_HHMMSS_<6hex>` if created here, any short text otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// Parses an id: not empty, short, without control characters.
    pub fn parse(text: &str) -> Result<Self> {
        if text.is_empty() || text.len() > MAX_BYTES || text.chars().any(char::is_control) {
            return Err(Error::InvalidId {
                shown: display_text(text),
            });
        }
        Ok(Self(text.to_owned()))
    }

    /// A new id: local time and six hexadecimal digits. The digits come from the seeds of the
    /// standard library's hash maps: ids must differ, not be unguessable.
    pub fn generate() -> Self {
        let stamp = hermes_time::now().strftime("%Y%m%d_%H%M%S");
        let random = RandomState::new().hash_one(std::process::id()) & 0xFF_FFFF;
        Self(format!("{stamp}_{random:06x}"))
    }

    /// An id from the database, accepted unchecked.
    pub(crate) fn from_row(text: String) -> Self {
        Self(text)
    }

    /// The error about a session that does not exist.
    pub(crate) fn unknown(&self) -> Error {
        Error::Unknown {
            shown: display_text(&self.0),
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the id can be part of a file name.
    pub fn is_file_name(&self) -> bool {
        !self.0.contains('/') && self.0 != "." && self.0 != ".."
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The row id of a message. Ids grow: they give the order of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct MessageId(pub i64);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_id_is_date_time_and_six_hex_digits() {
        let id = SessionId::generate();
        let parts: Vec<&str> = id.as_str().split('_').collect();
        assert_eq!(
            parts.iter().map(|part| part.len()).collect::<Vec<_>>(),
            [8, 6, 6]
        );
        assert!(
            parts[..2]
                .iter()
                .all(|part| part.bytes().all(|b| b.is_ascii_digit()))
        );
        assert!(
            parts[2]
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        );
        assert_ne!(id, SessionId::generate());
    }

    #[test]
    fn parse_refuses_empty_long_and_control_characters() {
        for text in ["", "a\nb", "a\0", &"x".repeat(256)] {
            assert!(
                matches!(SessionId::parse(text), Err(Error::InvalidId { .. })),
                "{text:?}"
            );
        }
        assert_eq!(
            SessionId::parse("agent:main:telegram:dm:1")
                .unwrap()
                .as_str(),
            "agent:main:telegram:dm:1"
        );
        assert!(!SessionId::parse("../x").unwrap().is_file_name());
    }
}
