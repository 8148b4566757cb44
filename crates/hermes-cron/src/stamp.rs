//! Moments as the jobs file has them: ISO 8601 with microseconds and an offset. Older files have
//! moments without an offset; those are local ones of the machine.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

/// A moment, and the clock it was written by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) at: Timestamp,
    /// What the clock showed, if the offset was written down.
    pub(crate) local: Option<(DateTime, Offset)>,
}

impl Stamp {
    /// Reads a moment.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(at) = text.parse::<Timestamp>() {
            let civil: Option<DateTime> = text.trim_end_matches(['z', 'Z']).parse().ok();
            let offset = civil.and_then(|civil| {
                let ahead = civil
                    .to_zoned(TimeZone::UTC)
                    .ok()?
                    .timestamp()
                    .duration_since(at);
                Offset::from_seconds(i32::try_from(ahead.as_secs()).ok()?).ok()
            });
            return Some(Self {
                at,
                local: civil.zip(offset),
            });
        }
        let civil: DateTime = text.parse().ok()?;
        let at = civil.to_zoned(hermes_time::local()).ok()?.timestamp();
        Some(Self { at, local: None })
    }
}

/// A moment as it is written, by the clock of this zone.
pub(crate) fn written(at: Timestamp, zone: &TimeZone) -> String {
    let local = at.to_zoned(zone.clone());
    local.strftime("%Y-%m-%dT%H:%M:%S%.6f%:z").to_string()
}

/// How long ago a moment was; nothing for one in the future.
pub(crate) fn age(at: Timestamp, now: Timestamp) -> Option<SignedDuration> {
    Some(now.duration_since(at)).filter(|age| !age.is_negative())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_is_written_is_read_back_with_its_offset() {
        let zone = TimeZone::fixed(Offset::from_seconds(7200).unwrap());
        let at: Timestamp = "2026-11-17T09:00:25.25Z".parse().unwrap();
        let text = written(at, &zone);
        assert_eq!(text, "2026-11-17T11:00:25.250000+02:00");
        let stamp = Stamp::parse(&text).unwrap();
        assert_eq!(stamp.at, at);
        let (local, offset) = stamp.local.unwrap();
        assert_eq!(
            (local.to_string(), offset.seconds()),
            ("2026-11-17T11:00:25.25".to_owned(), 7200)
        );
    }

    #[test]
    fn older_moments_have_no_offset() {
        let stamp = Stamp::parse("2026-11-17T09:00:25").unwrap();
        assert_eq!(stamp.local, None);
        for bad in ["", "soon", "2026-13-01T00:00:00+00:00"] {
            assert_eq!(Stamp::parse(bad), None, "{bad}");
        }
    }
}
