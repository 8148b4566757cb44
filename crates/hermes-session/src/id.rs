//! Names of sessions and numbers of messages.

use std::fmt;

use serde::Serialize;

use crate::clock::Clock;
use crate::{Error, Result};

/// Longest id that is accepted. Those of chats carry the names of platforms and rooms.
const LONGEST: usize = 255;
/// Bits of chance in an id.
const CHANCE_BITS: u64 = 0xFF_FFFF;

/// The id of a session: `YYYYMMDD_HHMMSS_<6hex>` for those made here, any short text for others.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// Takes a text for an id if it can be one: not empty, short, without control characters.
    pub fn parse(text: &str) -> Result<Self> {
        if text.is_empty() || text.len() > LONGEST || text.chars().any(char::is_control) {
            return Err(Error::InvalidId {
                shown: crate::shown(text),
            });
        }
        Ok(Self(text.to_owned()))
    }

    /// A new id: local time and six hexadecimal digits.
    pub fn generate(clock: &dyn Clock) -> Self {
        Self(format!(
            "{}_{:06x}",
            clock.stamp(),
            clock.chance() & CHANCE_BITS
        ))
    }

    /// What the database says, however odd.
    pub(crate) fn of_row(text: String) -> Self {
        Self(text)
    }

    /// The text.
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

/// The number of a message. Numbers grow; they are the order of a conversation.
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
    use crate::clock::SystemClock;

    #[test]
    fn generated_ids_have_the_shape_that_others_expect() {
        let id = SessionId::generate(&SystemClock);
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
        assert_ne!(id, SessionId::generate(&SystemClock));
    }

    #[test]
    fn texts_that_cannot_be_ids_are_refused() {
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
