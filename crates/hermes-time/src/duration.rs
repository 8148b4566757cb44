//! Durations, as people write and read them.

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3_600.0;
/// Seconds of a day.
const DAY: f64 = 86_400.0;
/// Longer than any clock has run: a slip.
const LONGEST: f64 = 1e11;

/// The seconds of `90s`, `30m`, `1.5h`, `2d` or `1w`. A bare number counts units of `bare` seconds; it
/// is no duration where `bare` is `None`.
pub fn parse_seconds(text: &str, bare: Option<f64>) -> Option<f64> {
    let text = text.trim();
    let (at, last) = text.char_indices().next_back()?;
    let unit = match last.to_ascii_lowercase() {
        's' => Some(1.0),
        'm' => Some(MINUTE),
        'h' => Some(HOUR),
        'd' => Some(DAY),
        'w' => Some(7.0 * DAY),
        _ => None,
    };
    let digits = if unit.is_some() {
        text.get(..at)?
    } else {
        text
    };
    let is_plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = digits.parse().ok().filter(|_| is_plain)?;
    let seconds = number * unit.or(bare)?;
    (seconds <= LONGEST).then_some(seconds)
}

/// `just now`, `5m ago`, `3h ago` or `2d ago`; a moment in the future is now.
pub fn ago(seconds: i64) -> String {
    match seconds {
        ..60 => "just now".to_owned(),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn durations_have_units_and_bare_numbers_only_where_they_may() {
        for (text, seconds) in [
            ("90s", 90.0),
            (" 30m ", 1800.0),
            ("2H", 7200.0),
            ("1.5h", 5400.0),
            ("2D", 172_800.0),
            ("1w", 604_800.0),
            ("0s", 0.0),
        ] {
            assert_eq!(parse_seconds(text, None), Some(seconds), "{text}");
        }
        assert_eq!(parse_seconds("90", Some(1.0)), Some(90.0));
        assert_eq!(parse_seconds("90", Some(DAY)), Some(90.0 * DAY));
        assert_eq!(parse_seconds("90", None), None);
        for bad in [
            "",
            "h",
            "-5",
            "+1h",
            "5x",
            "1e3",
            "nan",
            "inf",
            "5 m",
            "5ä",
            "99999999d",
        ] {
            assert_eq!(parse_seconds(bad, Some(1.0)), None, "{bad}");
        }
    }

    #[test]
    fn ages_are_coarse_and_never_in_the_future() {
        let ages = [-5, 59, 60, 7200, 200_000].map(ago);
        assert_eq!(ages, ["just now", "just now", "1m ago", "2h ago", "2d ago"]);
    }
}
