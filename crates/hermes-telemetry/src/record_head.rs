//! The beginning of a record: time, level and logger. Writing uses it to keep a message from looking
//! like a record of its own, reading to filter.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{Timestamp, tz::TimeZone};

use crate::Level;

/// The parsed beginning of a record's first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordHead<'a> {
    time: DateTime,
    /// Given by the boot log only; the others are in local time.
    offset: Option<Offset>,
    pub(crate) level: Option<Level>,
    pub(crate) logger: Option<&'a str>,
}

impl<'a> RecordHead<'a> {
    /// `None` for a line that continues the record before it.
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        let (stamp, rest) = line.split_at_checked(19)?;
        let time = date_time(stamp)?;
        let rest = rest
            .strip_prefix([',', '.'])
            .map_or(rest, |fraction| fraction.trim_start_matches(is_digit));
        let (offset, rest) = offset(rest);
        // A digit or letter right here: not one of our stamps.
        if rest.starts_with(|c: char| c.is_alphanumeric()) {
            return None;
        }
        let rest = rest.trim_start_matches(' ');
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        let level = Level::parse(word);
        let logger = level.and_then(|_| {
            let after = match after.strip_prefix('[') {
                Some(tagged) => tagged.split_once("] ")?.1,
                None => after,
            };
            after.split_once(": ").map(|(logger, _)| logger)
        });
        Some(Self {
            time,
            offset,
            level,
            logger,
        })
    }

    /// Whether the record is older than a moment.
    pub(crate) fn is_before(&self, moment: &LogTime) -> bool {
        match self.offset.map(|offset| offset.to_timestamp(self.time)) {
            Some(Ok(at)) => at < moment.timestamp,
            Some(Err(_)) | None => self.time < moment.local,
        }
    }
}

/// A point in time, also in local time: most records carry local time only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogTime {
    timestamp: Timestamp,
    local: DateTime,
}

impl LogTime {
    pub(crate) fn new(timestamp: Timestamp, zone: &TimeZone) -> Self {
        Self {
            timestamp,
            local: zone.to_datetime(timestamp),
        }
    }

    pub(crate) fn timestamp(&self) -> Timestamp {
        self.timestamp
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// `YYYY-MM-DD HH:MM:SS`, also with a `T` in the middle.
fn date_time(stamp: &str) -> Option<DateTime> {
    let bytes = stamp.as_bytes();
    let is = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|byte| wanted.contains(byte));
    let has_form = is(4, b"-") && is(7, b"-") && is(10, b" T") && is(13, b":") && is(16, b":");
    has_form.then(|| stamp.parse().ok())?
}

/// `Z`, `+0200` or `+02:00` at the beginning, and what follows.
fn offset(rest: &str) -> (Option<Offset>, &str) {
    if let Some(after) = rest.strip_prefix('Z') {
        return (Some(Offset::UTC), after);
    }
    let parsed = || {
        let sign = match rest.as_bytes().first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let (hours, after) = rest.get(1..)?.split_at_checked(2)?;
        let (minutes, after) = after
            .strip_prefix(':')
            .unwrap_or(after)
            .split_at_checked(2)?;
        let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
        Some((Offset::from_seconds(sign * seconds).ok()?, after))
    };
    match parsed() {
        Some((offset, after)) => (Some(offset), after),
        None => (None, rest),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parts(line: &str) -> Option<(Option<Level>, Option<&str>)> {
        RecordHead::parse(line).map(|head| (head.level, head.logger))
    }

    #[test]
    fn records_of_all_files_are_recognised() {
        let info = Some(Level::Info);
        for (line, wanted) in [
            (
                "2026-11-02 10:20:30,123 INFO agent.turn: a: b",
                (info, Some("agent.turn")),
            ),
            (
                "2026-11-02 10:20:30,123 INFO [tg:1] agent: x",
                (info, Some("agent")),
            ),
            (
                "2026-11-02 10:20:30.123456789  INFO agent: x",
                (info, Some("agent")),
            ),
            ("2026-11-02 10:20:30.123456789  plain output", (None, None)),
            (
                "2026-11-02T10:20:30+0200 profile=default action=started",
                (None, None),
            ),
        ] {
            assert_eq!(parts(line), Some(wanted), "{line}");
        }
    }

    #[test]
    fn continuations_are_not_records() {
        for line in [
            "",
            "  2026-11-02 10:20:30,123 INFO agent: x",
            "Traceback (most recent call last):",
            "2026-13-02 10:20:30,123 INFO agent: x",
            "2026-11-02",
            "2026-11-02 10:20:3x",
            "日本語日本語日本語日本語",
        ] {
            assert_eq!(parts(line), None, "{line}");
        }
    }

    #[test]
    fn ages_are_judged_in_local_time_or_by_the_offset() {
        let zone = TimeZone::fixed(Offset::from_seconds(7200).unwrap());
        let noon_utc = LogTime::new("2026-11-02T12:00:00Z".parse().unwrap(), &zone);
        let before = |line: &str| RecordHead::parse(line).unwrap().is_before(&noon_utc);
        assert!(before("2026-11-02 13:59:59,000 INFO a: x"));
        assert!(!before("2026-11-02 14:00:00,000 INFO a: x"));
        assert!(before("2026-11-02T07:59:59-0400 profile=x"));
        assert!(!before("2026-11-02T08:00:00-0400 profile=x"));
    }
}
