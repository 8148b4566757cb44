//! Ages and moments, as people write and read them.

use jiff::Timestamp;
use jiff::civil::DateTime;

use crate::context::Context;

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// An age (`5h`, `2d`, `1w`, days if it is a bare number) or a moment (`2026-07-05 14:30`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum When {
    Ago(f64),
    /// Then, in the zone of the profile.
    Local(DateTime),
    /// Then.
    Moment(Timestamp),
}

impl When {
    /// As an argument gives it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(seconds) = hermes_time::parse_seconds(text, Some(DAY)) {
            return Ok(Self::Ago(seconds));
        }
        if let Ok(moment) = text.parse() {
            return Ok(Self::Moment(moment));
        }
        if let Ok(local) = text.parse() {
            return Ok(Self::Local(local));
        }
        Err("use an age such as 90, 5h, 2d or 1w, or a time such as 2026-07-05 14:30".to_owned())
    }

    /// In seconds since 1970.
    pub(super) fn seconds(&self, context: &Context, now: f64) -> f64 {
        match self {
            Self::Ago(seconds) => now - seconds,
            Self::Moment(moment) => moment.as_duration().as_secs_f64(),
            Self::Local(local) => local
                .to_zoned(context.zone().resolve())
                .map_or(now, |moment| moment.timestamp().as_duration().as_secs_f64()),
        }
    }
}

/// How long ago something was; `in the future` if a clock was wrong.
pub(in crate::commands) fn ago(now: f64, then: f64) -> String {
    let seconds = now - then;
    if !seconds.is_finite() || seconds < -60.0 {
        return "in the future".to_owned();
    }
    hermes_time::ago(whole(seconds))
}

/// `2026-11-05 13:45` in the zone of the profile.
pub(super) fn minute(context: &Context, seconds: f64) -> String {
    match context.minute(whole(seconds)) {
        unknown if unknown.is_empty() => "unknown time".to_owned(),
        shown => shown,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "cut to whole seconds on purpose"
)]
fn whole(seconds: f64) -> i64 {
    seconds as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_units_and_bare_numbers_are_days() {
        for (text, seconds) in [
            ("90", 90.0 * DAY),
            ("5h", 18_000.0),
            ("2D", 2.0 * DAY),
            ("1w", 7.0 * DAY),
            ("30m", 1800.0),
            ("1.5h", 5400.0),
            ("0", 0.0),
        ] {
            assert_eq!(When::parse(text), Ok(When::Ago(seconds)), "{text}");
        }
        for text in ["2026-07-05 14:30", "2026-07-05T14:30:00", "2026-07-05"] {
            assert!(matches!(When::parse(text), Ok(When::Local(_))), "{text}");
        }
        assert!(matches!(
            When::parse("2026-07-05T14:30:00Z"),
            Ok(When::Moment(_))
        ));
        for bad in [
            "",
            "h",
            "-5",
            "5x",
            "1e3",
            "nan",
            "9999999999",
            "yesterday",
            "2026-13-01",
        ] {
            assert!(When::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn clocks_may_be_wrong() {
        assert_eq!(ago(100.0, 40.0), "1m ago");
        assert_eq!(ago(100.0, 130.0), "just now");
        assert_eq!(ago(100.0, 5000.0), "in the future");
        assert_eq!(ago(100.0, f64::INFINITY), "in the future");
    }
}
