//! Whom a card is given to: a profile, or a lane that some other program works off.

use std::fmt;

use serde::Serialize;

use crate::{Error, Result};

/// Longest name that is shown in a message.
const SHOWN: usize = 64;

/// A canonical name: trimmed, in lower case, harmless as an argument and as a file name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Assignee(String);

impl Assignee {
    /// Checks a name that is about to be given to a card.
    pub fn parse(raw: &str) -> Result<Self> {
        let name = raw.trim().to_lowercase();
        let harmless = !name.is_empty()
            && !name.starts_with(['-', '.'])
            && !name.contains(['/', '\\'])
            && !name.contains(char::is_control);
        if harmless {
            Ok(Self(name))
        } else {
            Err(Error::BadAssignee {
                shown: crate::shown(raw, SHOWN),
            })
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Assignee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_canonical_and_harmless() {
        assert_eq!(Assignee::parse(" Coder ").unwrap().as_str(), "coder");
        assert_eq!(Assignee::parse("orion-cc").unwrap().as_str(), "orion-cc");
        for bad in ["", " ", "-x", ".x", "a/b", "a\\b", "a\nb", "\u{1b}[1m"] {
            assert!(Assignee::parse(bad).is_err(), "{bad:?}");
        }
    }
}
