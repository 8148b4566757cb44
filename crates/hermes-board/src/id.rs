//! Names of cards and attempts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest card name that becomes a file name.
const MAX_FILE_NAME: usize = 64;

/// The name of a card: `t_` and eight hexadecimal digits for new ones. Old files may hold any
/// text, so only [`TaskId::as_file_name`] may become part of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(String);

impl TaskId {
    /// Takes the text unchanged.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The name for these random bits.
    pub fn from_bits(bits: u32) -> Self {
        Self(format!("t_{bits:08x}"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text if it is harmless as a file name.
    pub fn as_file_name(&self) -> Option<&str> {
        let plain = self.0.len() <= MAX_FILE_NAME
            && self
                .0
                .starts_with(|first: char| first.is_ascii_alphanumeric())
            && self
                .0
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        plain.then_some(self.0.as_str())
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<&str> for TaskId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// The number of an attempt at a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub i64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_become_files() {
        for plain in ["t_00c0ffee", "t1", "A-b_9"] {
            assert_eq!(TaskId::new(plain).as_file_name(), Some(plain));
        }
        let long = "a".repeat(65);
        for odd in [
            "", ".", "..", "../x", "a/b", "-x", "_x", "a b", "a.log", "ä", &long,
        ] {
            assert_eq!(TaskId::new(odd).as_file_name(), None, "{odd:?}");
        }
    }

    #[test]
    fn bits_become_eight_digits() {
        assert_eq!(TaskId::from_bits(0x00C0_FFEE).as_str(), "t_00c0ffee");
    }
}
