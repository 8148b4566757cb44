//! Profile names: parsed once at the edge, then known to be safe as a directory, file and service
//! name.

use std::fmt;

/// Longest name.
const MAX_CHARS: usize = 64;

/// The name of the profile whose home is the root.
const DEFAULT: &str = "default";

/// Names that would shadow a program or a directory people expect to be something else.
const RESERVED: &[&str] = &[DEFAULT, "hermes", "test", "tmp", "root", "sudo"];

/// A canonical profile name: `default` or a match of `^[a-z0-9][a-z0-9_-]{0,63}$`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProfileName(String);

/// Why a text is not the name of a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("a profile name cannot be empty")]
    Empty,
    #[error(
        "profile name '{shown}' is too long: {chars} characters, at most {MAX_CHARS} are allowed"
    )]
    TooLong { shown: String, chars: usize },
    #[error(
        "'{shown}' is not a valid profile name: use lowercase letters, digits, '-' and '_', \
         with a letter or digit first"
    )]
    Characters { shown: String },
    #[error("'{name}' is reserved and cannot be the name of a new profile")]
    Reserved { name: String },
}

impl NameError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Reserved { name } if name == DEFAULT => {
                Some("the default profile always exists; pick another name".to_owned())
            }
            Self::Reserved { .. } => Some("pick another name".to_owned()),
            Self::Empty | Self::TooLong { .. } | Self::Characters { .. } => {
                Some("a name such as 'coder' or 'team-2' works".to_owned())
            }
        }
    }
}

impl ProfileName {
    /// The root profile.
    pub fn default_profile() -> Self {
        Self(DEFAULT.to_owned())
    }

    /// Canonicalises (trim, lowercase) and checks the name of a profile that may exist.
    pub fn parse(raw: &str) -> Result<Self, NameError> {
        let name = raw.trim().to_ascii_lowercase();
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        let chars = name.chars().count();
        if chars > MAX_CHARS {
            return Err(NameError::TooLong {
                shown: shown(raw.trim()),
                chars,
            });
        }
        if is_canonical(&name) {
            Ok(Self(name))
        } else {
            Err(NameError::Characters {
                shown: shown(raw.trim()),
            })
        }
    }

    /// As [`Self::parse`], for a name that is about to be given: reserved ones are refused.
    pub fn parse_new(raw: &str) -> Result<Self, NameError> {
        let name = Self::parse(raw)?;
        if RESERVED.contains(&name.as_str()) {
            Err(NameError::Reserved { name: name.0 })
        } else {
            Ok(name)
        }
    }

    /// Takes a directory name that is a canonical name of a named profile as it stands.
    pub fn from_directory(name: &std::ffi::OsStr) -> Option<Self> {
        let name = name.to_str()?;
        (is_canonical(name) && name != DEFAULT).then(|| Self(name.to_owned()))
    }

    /// Whether this is the root profile.
    pub fn is_default(&self) -> bool {
        self.0 == DEFAULT
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Whether a word may stand in the place of an alias or a name.
pub(crate) fn is_canonical(name: &str) -> bool {
    name.len() <= MAX_CHARS
        && name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
        && !name.starts_with(['-', '_'])
        && !name.is_empty()
}

/// Whether a word cannot be given to a new profile or alias.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// A text of the user's in a message.
pub(crate) fn shown(raw: &str) -> String {
    hermes_text::shown(raw, MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn names_are_canonicalised() {
        for (raw, name) in [
            ("coder", "coder"),
            ("UPPER", "upper"),
            ("  Team-2_x ", "team-2_x"),
            ("0", "0"),
            ("DEFAULT", "default"),
        ] {
            assert_eq!(ProfileName::parse(raw).unwrap().as_str(), name);
        }
        assert_eq!(
            ProfileName::parse(&"a".repeat(64)).unwrap().as_str().len(),
            64
        );
    }

    #[test]
    fn bad_names_are_named_with_the_rule() {
        let text = |raw: &str| ProfileName::parse(raw).unwrap_err().to_string();
        let rule = "is not a valid profile name: use lowercase letters, digits, '-' and '_', with \
                    a letter or digit first";
        assert_eq!(text("Bad Name"), format!("'Bad Name' {rule}"));
        assert_eq!(text("../x"), format!("'../x' {rule}"));
        assert_eq!(text("-x"), format!("'-x' {rule}"));
        assert_eq!(text("_x"), format!("'_x' {rule}"));
        assert_eq!(text("a\x1b[31mb"), format!("'a\\u{{1b}}[31mb' {rule}"));
        assert_eq!(text("a\u{202e}b"), format!("'a\\u{{202e}}b' {rule}"));
        // Lowercases to an ASCII letter outside ASCII; is none.
        assert_eq!(text("\u{212a}"), format!("'\u{212a}' {rule}"));
        assert_eq!(text(" \t"), "a profile name cannot be empty");
        assert_eq!(
            text(&"a".repeat(65)),
            format!(
                "profile name '{}…' is too long: 65 characters, at most 64 are allowed",
                "a".repeat(64)
            )
        );
    }

    #[test]
    fn reserved_names_are_refused_for_new_profiles_only() {
        for raw in ["hermes", "Default", "test", "tmp", "root", "sudo"] {
            assert!(matches!(
                ProfileName::parse_new(raw),
                Err(NameError::Reserved { .. })
            ));
            assert!(ProfileName::parse(raw).is_ok());
        }
        assert!(ProfileName::parse_new("chat").is_ok());
    }

    #[test]
    fn directories_are_taken_as_they_stand() {
        let of = |name: &str| ProfileName::from_directory(name.as_ref()).is_some();
        assert!(of("coder"));
        assert!(!of("Coder") && !of(" coder") && !of("default") && !of(".coder.tmp-1"));
    }

    proptest! {
        #[test]
        fn what_is_accepted_matches_the_pattern(raw in "\\PC{0,70}") {
            if let Ok(name) = ProfileName::parse(&raw) {
                let bytes = name.as_str().as_bytes();
                prop_assert!((1..=64).contains(&bytes.len()));
                prop_assert!(bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(b)));
                prop_assert!(bytes.first().is_some_and(u8::is_ascii_alphanumeric));
                prop_assert_eq!(ProfileName::parse(name.as_str()).unwrap(), name);
            }
        }

        #[test]
        fn messages_hold_no_control_characters(raw in any::<String>()) {
            prop_assert!(!shown(&raw).contains(char::is_control));
        }
    }
}
