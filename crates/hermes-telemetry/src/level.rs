//! Levels as the log files name them.

use std::fmt;
use std::str::FromStr;

use hermes_text::named_enum;

use crate::ArgumentError;

named_enum! {
    /// How much a record matters, from least to most, with the name in the files.
    pub enum Level {
        Debug = "DEBUG",
        Info = "INFO",
        /// Something is not as it should be, and the work goes on.
        Warning = "WARNING",
        /// Something was not done.
        Error = "ERROR",
        /// The process cannot go on.
        Critical = "CRITICAL",
    }
}

impl Level {
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
            name => Self::parse(name).ok_or_else(|| ArgumentError::UnknownLevel(value.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_reads_its_own_name() {
        for level in Level::ALL {
            assert_eq!(level.name().to_lowercase().parse(), Ok(*level));
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
