//! Times and durations, as people write and read them.

use jiff::Timestamp;

/// `90s`, `30m`, `2h`, `1d`, `1w` or a number of seconds.
pub(super) fn parse_duration(text: &str) -> Result<i64, String> {
    let seconds = hermes_time::parse_seconds(text, Some(1.0)).ok_or_else(|| {
        format!("invalid duration '{text}': use seconds, or a number with s, m, h, d or w")
    })?;
    if seconds < 1.0 {
        return Err(format!(
            "invalid duration '{text}': must be at least one second"
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "cut to whole seconds on purpose"
    )]
    Ok(seconds as i64)
}

/// A time: RFC 3339, or seconds since 1970.
pub(super) fn parse_moment(text: &str) -> Result<i64, String> {
    let trimmed = text.trim();
    let moment = match trimmed.parse::<i64>() {
        Ok(seconds) => Timestamp::from_second(seconds).ok(),
        Err(_) => trimmed.parse().ok(),
    };
    let seconds = moment.map(Timestamp::as_second);
    seconds.filter(|seconds| *seconds > 0).ok_or_else(|| {
        format!("invalid time '{text}': use 2027-01-31T09:00:00Z, or seconds since 1970")
    })
}

/// `45s`, `12m` or `1.5h`.
pub(super) fn elapsed(seconds: i64) -> String {
    match seconds.max(0) {
        short @ 0..60 => format!("{short}s"),
        minutes @ 60..3600 => format!("{}m", minutes / 60),
        long => {
            let tenths = long / 360;
            format!("{}.{}h", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, seconds) in [
            ("300", 300),
            ("90s", 90),
            (" 30m ", 1800),
            ("2H", 7200),
            ("1.5h", 5400),
            ("1d", 86_400),
        ] {
            assert_eq!(parse_duration(text), Ok(seconds), "{text}");
        }
        for bad in [
            "",
            "5x",
            "m",
            "-5",
            "-5s",
            "1e3",
            "nan",
            "inf",
            "0",
            "0.4s",
            "5 m",
            "99999999d",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn moments_are_dates_or_numbers() {
        assert_eq!(parse_moment("1800000000"), Ok(1_800_000_000));
        assert_eq!(parse_moment("2027-01-15T08:00:00Z"), Ok(1_800_000_000));
        assert_eq!(parse_moment("2027-01-15T09:00:00+01:00"), Ok(1_800_000_000));
        for bad in ["", "tomorrow", "2027-01-15", "0", "-5", "99999999999999"] {
            assert!(parse_moment(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_short() {
        assert_eq!(
            (elapsed(-3), elapsed(59), elapsed(61)),
            ("0s".into(), "59s".into(), "1m".into())
        );
        assert_eq!(
            (elapsed(5400), elapsed(360_000)),
            ("1.5h".into(), "100.0h".into())
        );
    }
}
