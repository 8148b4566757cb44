//! Levels as the log files name them.

use std::fmt;
use std::str::FromStr;

use crate::ArgumentError;

/// How much a record matters, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// For whoever is looking for a fault.
    Debug,
    /// What happened.
    Info,
    /// Something is not as it should be, and the work goes on.
    Warning,
    /// Something was not done.
    Error,
    /// The process cannot go on.
    Critical,
}

impl Level {
    /// All levels, least first.
    pub const ALL: [Self; 5] = [
        Self::Debug,
        Self::Info,
        Self::Warning,
        Self::Error,
        Self::Critical,
    ];

    /// The name in the files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
            Self::Critical => "CRITICAL",
        }
    }

    /// The level written exactly so in a file.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The level of a `tracing` event; the files have none for `TRACE`.
    pub(crate) fn of(level: tracing::Level) -> Option<Self> {
        match level {
            tracing::Level::ERROR => Some(Self::Error),
            tracing::Level::WARN => Some(Self::Warning),
            tracing::Level::INFO => Some(Self::Info),
            tracing::Level::DEBUG => Some(Self::Debug),
            tracing::Level::TRACE => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Level {
    type Err = ArgumentError;

    /// Any case; `warn` and `fatal` are understood too.
    fn from_str(value: &str) -> Result<Self, ArgumentError> {
        match value.trim().to_ascii_uppercase().as_str() {
            "WARN" => Ok(Self::Warning),
            "FATAL" => Ok(Self::Critical),
            name => Self::from_name(name).ok_or_else(|| ArgumentError::UnknownLevel {
                value: value.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_reads_its_own_name() {
        for level in Level::ALL {
            assert_eq!(level.name().to_lowercase().parse(), Ok(level));
        }
        assert_eq!("warn".parse(), Ok(Level::Warning));
    }

    #[test]
    fn an_unknown_level_is_named_with_the_choices() {
        let error = "loud".parse::<Level>().unwrap_err();
        assert_eq!(error.to_string(), "unknown log level 'loud'");
        for level in Level::ALL {
            assert!(error.hint().contains(level.name()));
        }
    }
}
