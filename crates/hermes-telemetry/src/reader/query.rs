//! What a user asks of a log.

use std::time::Duration;

use crate::{ArgumentError, Component, Level};

/// Which lines to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogQuery {
    /// At most so many, the newest.
    pub lines: usize,
    /// Records of this level and above.
    pub level: Option<Level>,
    /// Records whose first line contains this.
    pub session: Option<String>,
    /// Records not older than this.
    pub since: Option<Duration>,
    pub component: Option<Component>,
}

impl Default for LogQuery {
    /// The last fifty lines, whatever they are.
    fn default() -> Self {
        Self {
            lines: 50,
            level: None,
            session: None,
            since: None,
            component: None,
        }
    }
}

impl LogQuery {
    /// Whether every line is wanted.
    pub fn is_unfiltered(&self) -> bool {
        let Self {
            lines: _,
            level,
            session,
            since,
            component,
        } = self;
        level.is_none() && session.is_none() && since.is_none() && component.is_none()
    }
}

/// Longest age, in seconds.
const LONGEST: f64 = 100.0 * 366.0 * 86_400.0;

/// Reads an age such as `45s`, `30m`, `1.5h`, `2d` or `1w`.
pub fn parse_age(value: &str) -> Result<Duration, ArgumentError> {
    let seconds = hermes_time::parse_seconds(value, None);
    // Longer than a human life: a slip, and too far back for any clock.
    let seconds = seconds.filter(|seconds| *seconds <= LONGEST);
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| ArgumentError::BadAge(value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_parsed_with_their_units() {
        for (text, seconds) in [
            ("45s", 45),
            ("30m", 1800),
            ("1h", 3600),
            ("2d", 172_800),
            ("0s", 0),
            (" 1H ", 3600),
            ("1.5h", 5400),
            ("1w", 604_800),
        ] {
            assert_eq!(parse_age(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn what_is_no_age_is_named_with_an_example() {
        for bad in [
            "",
            "h",
            "5",
            "-1h",
            "+1h",
            "one hour",
            "99999999999999999999d",
            "1000000d",
            "5ä",
        ] {
            let error = parse_age(bad).unwrap_err();
            assert_eq!(error.to_string(), format!("'{bad}' is not an age"));
            assert!(error.hint().contains("30m"));
        }
    }
}
