//! What is wrong with the settings, as data: the same rows serve warnings, `config check` and
//! `doctor`.

use std::path::PathBuf;

use crate::dotenv::DotEnvNote;
use crate::settings::BrokenFile;

/// One thing that is wrong. None of them stops a command that does not need the setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The file as a whole cannot be used; defaults are in effect.
    Broken { file: PathBuf, reason: BrokenFile },
    UnknownKey {
        file: PathBuf,
        line: Option<usize>,
        key: String,
        suggestion: Option<String>,
    },
    /// A value of the wrong type; the default is in effect.
    WrongType {
        file: PathBuf,
        line: Option<usize>,
        key: String,
        expected: String,
        found: String,
    },
    /// A variable whose text is no value of its setting; it is ignored.
    BadVariable {
        variable: &'static str,
        key: String,
        expected: String,
        /// What it holds, where that cannot be a secret.
        found: Option<String>,
    },
    /// `.env` cannot be read; none of it is in effect.
    DotEnv {
        /// A sentence that names the file.
        message: String,
        hint: Option<String>,
    },
    /// A line of `.env` that is not used as it stands.
    DotEnvLine { file: PathBuf, note: DotEnvNote },
}

impl Problem {
    /// The key the problem is about, if it is about one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::UnknownKey { key, .. }
            | Self::WrongType { key, .. }
            | Self::BadVariable { key, .. } => Some(key),
            Self::Broken { .. } | Self::DotEnv { .. } | Self::DotEnvLine { .. } => None,
        }
    }

    /// Whether whoever reads this key must know: a value that the user gave for it is not in effect,
    /// or a line of `.env`, in which variables of any part may stand, is not.
    pub fn concerns(&self, key: &str) -> bool {
        let wrong = match self {
            Self::WrongType { key, .. } | Self::BadVariable { key, .. } => key.as_str(),
            Self::DotEnvLine { .. } => return true,
            Self::Broken { .. } | Self::UnknownKey { .. } | Self::DotEnv { .. } => return false,
        };
        let is_below = |upper: &str, lower: &str| {
            let rest = lower.strip_prefix(upper);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        is_below(wrong, key) || is_below(key, wrong)
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Broken { reason, .. } => reason.hint(),
            Self::UnknownKey {
                suggestion: Some(key),
                ..
            } => Some(format!("did you mean {key}?")),
            Self::UnknownKey {
                suggestion: None, ..
            }
            | Self::BadVariable { .. } => None,
            Self::WrongType { key, .. } => Some(format!("hermes config set {key} VALUE")),
            Self::DotEnv { hint, .. } => hint.clone(),
            Self::DotEnvLine { note, .. } => Some(note.hint()),
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let position = |file: &PathBuf, line: &Option<usize>| match line {
            Some(line) => format!("{}:{line}", file.display()),
            None => file.display().to_string(),
        };
        match self {
            Self::Broken {
                reason: BrokenFile::Unreadable { message, .. },
                ..
            } => write!(f, "{message}; defaults are in effect"),
            Self::Broken { file, reason } => {
                write!(
                    f,
                    "Failed to parse {}: {reason}; defaults are in effect",
                    file.display()
                )
            }
            Self::UnknownKey {
                file, line, key, ..
            } => {
                write!(f, "{}: unknown setting {key}", position(file, line))
            }
            Self::WrongType {
                file,
                line,
                key,
                expected,
                found,
            } => write!(
                f,
                "{}: {key}: expected {expected}, got {found}; the default is in effect",
                position(file, line)
            ),
            Self::BadVariable {
                variable,
                key,
                expected,
                found,
            } => {
                let value = found.as_ref().map(|text| format!("={text}"));
                let value = value.unwrap_or_default();
                write!(f, "{variable}{value} is ignored: {key} is {expected}")
            }
            Self::DotEnv { message, .. } => {
                write!(f, "{message}; no variable of it is in effect")
            }
            Self::DotEnvLine { file, note } => {
                write!(f, "{}:{}: {}", file.display(), note.line, note.kind)
            }
        }
    }
}
