//! Names of boards: parsed once at the edge, then safe as a directory name.

use std::fmt;

use serde::Serialize;

use crate::{Error, Result};

/// Longest slug.
const MAX_LENGTH: usize = 64;

/// The board that always exists.
const DEFAULT: &str = "default";

/// A match of `^[a-z0-9][a-z0-9_-]{0,63}$`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct BoardSlug(String);

impl BoardSlug {
    /// Trims, lowercases and checks.
    pub fn parse(raw: &str) -> Result<Self> {
        let slug = raw.trim().to_ascii_lowercase();
        if is_slug(&slug) {
            Ok(Self(slug))
        } else {
            Err(Error::InvalidSlug {
                shown: crate::shown(raw, MAX_LENGTH),
            })
        }
    }

    /// A directory name that is a slug as it stands.
    pub(crate) fn from_directory(name: &std::ffi::OsStr) -> Option<Self> {
        let name = name.to_str()?;
        is_slug(name).then(|| Self(name.to_owned()))
    }

    /// The board that always exists.
    pub fn default_board() -> Self {
        Self(DEFAULT.to_owned())
    }

    /// Whether this is the board that always exists.
    pub fn is_default(&self) -> bool {
        self.0 == DEFAULT
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What a board is called until somebody names it: its parts, capitalised.
    pub(crate) fn display_name(&self) -> String {
        let parts: Vec<String> = self
            .0
            .split(['-', '_'])
            .filter(|part| !part.is_empty())
            .map(capitalised)
            .collect();
        parts.join(" ")
    }
}

impl fmt::Display for BoardSlug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn is_slug(text: &str) -> bool {
    (1..=MAX_LENGTH).contains(&text.len())
        && !text.starts_with(['-', '_'])
        && text
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}

fn capitalised(part: &str) -> String {
    let mut chars = part.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slugs_are_canonicalised_and_everything_else_is_refused() {
        assert_eq!(
            BoardSlug::parse(" Atm10-Server ").unwrap().as_str(),
            "atm10-server"
        );
        assert_eq!(
            BoardSlug::parse(&"a".repeat(64)).unwrap().as_str().len(),
            64
        );
        for bad in [
            "",
            " ",
            "-a",
            "_archived",
            "a b",
            "../x",
            "a/b",
            "ä",
            "a\0",
            "a.b",
        ] {
            assert!(BoardSlug::parse(bad).is_err(), "{bad:?}");
        }
        assert!(BoardSlug::parse(&"a".repeat(65)).is_err());
    }

    #[test]
    fn a_name_is_made_of_the_parts() {
        let name = |raw| BoardSlug::parse(raw).unwrap().display_name();
        assert_eq!(name("atm10-server"), "Atm10 Server");
        assert_eq!(name("a__b-"), "A B");
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_a_plain_file_name(raw in "\\PC{0,70}") {
            if let Ok(slug) = BoardSlug::parse(&raw) {
                prop_assert!(hermes_fs::confined_relative(slug.as_str()).is_ok());
                prop_assert!(!slug.as_str().contains('/'));
            }
        }
    }
}
