//! When something runs again and again, or once: the forms people write, and the next moment.
//!
//! A daily time that a change of the clock leaves out is moved to the next minute there is; one that
//! comes twice counts once. What a missed moment means is the business of whoever keeps the schedule.

use jiff::civil::{DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, Zoned};

use crate::cron_pattern::CronPattern;

/// Longest interval, and longest wait for a single run, in minutes: 366 days.
const LONGEST_MINUTES: u32 = 366 * 24 * 60;

/// Days as they are written, in the order of cron's numbers.
const WEEKDAYS: [&str; 7] = [
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

/// When something runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// Once, at this moment.
    Once(Timestamp),
    /// Again and again, this many minutes apart.
    Interval(u32),
    /// At local times.
    Cron(CronPattern),
}

/// A schedule, and the words it is shown with.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenSchedule {
    pub schedule: Schedule,
    pub display: String,
}

/// Why a text is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    #[error("'{0}' is not a schedule")]
    Unknown(String),
    #[error("'{0}' would run all the time; the shortest interval is one minute")]
    NoInterval(String),
    #[error("'{0}' is longer than 366 days")]
    TooLong(String),
    #[error("'{text}' is not a usable cron expression: {reason}")]
    Pattern { text: String, reason: String },
    #[error("'{0}' matches no date that will ever come")]
    Never(String),
    #[error("'{text}' is not a usable date and time: {reason}")]
    Moment { text: String, reason: String },
}

impl ScheduleError {
    /// The forms that exist.
    pub fn hint(&self) -> &'static str {
        "use '30m' or 'in 2h' (once), 'every 30m', 'every 1d at 09:00', 'every monday 9am', \
         '0 9 * * *', '@daily', or a date and time like '2027-02-03T14:00' (once)"
    }
}

impl Schedule {
    /// What the text means now. Local times are those of the zone of `now`.
    pub fn parse(text: &str, now: &Zoned) -> Result<WrittenSchedule, ScheduleError> {
        let text = text.trim();
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let written = match words.as_slice() {
            ["every", rest @ ..] => every(text, rest)?,
            ["in", rest @ ..] => in_a_while(text, &rest.concat(), now)?,
            [name] if name.starts_with('@') => macro_of(text, name)?,
            // Dates may have a space in them, but never four.
            fields if fields.len() >= 5 => patterned(text, text)?,
            [first, ..] if looks_like_date(first) => WrittenSchedule::once(moment(text, now)?, now),
            other => in_a_while(text, &other.concat(), now)?,
        };
        if written
            .schedule
            .next_after(now.timestamp(), now.time_zone())
            .is_none()
            && matches!(written.schedule, Self::Cron(_))
        {
            return Err(ScheduleError::Never(shown(text)));
        }
        Ok(written)
    }

    /// The first moment after this one; `None` if there is none.
    pub fn next_after(&self, moment: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Once(at) => Some(*at).filter(|at| *at > moment),
            Self::Interval(minutes) => moment.checked_add(minutes_of(*minutes)).ok(),
            Self::Cron(pattern) => pattern.next_after(moment, zone),
        }
    }

    /// Whether it runs more than once.
    pub fn is_recurring(&self) -> bool {
        !matches!(self, Self::Once(_))
    }

    /// From one run to the next, around this moment; `None` for a single run.
    pub fn period(&self, moment: Timestamp, zone: &TimeZone) -> Option<SignedDuration> {
        match self {
            Self::Once(_) => None,
            Self::Interval(minutes) => Some(minutes_of(*minutes)),
            Self::Cron(_) => {
                let first = self.next_after(moment, zone)?;
                let second = self.next_after(first, zone)?;
                Some(second.duration_since(first))
            }
        }
    }
}

impl WrittenSchedule {
    fn once(at: Timestamp, now: &Zoned) -> Self {
        let local = at.to_zoned(now.time_zone().clone());
        Self {
            schedule: Schedule::Once(at),
            display: format!("once at {}", local.strftime("%Y-%m-%d %H:%M")),
        }
    }
}

/// `every …`.
fn every(text: &str, rest: &[&str]) -> Result<WrittenSchedule, ScheduleError> {
    let unknown = || ScheduleError::Unknown(shown(text));
    let cron = |fields: String| {
        let display = text.to_lowercase();
        Ok(WrittenSchedule {
            display: display.split_whitespace().collect::<Vec<_>>().join(" "),
            ..patterned(text, &fields)?
        })
    };
    let at = rest.iter().position(|word| *word == "at");
    let (what, time) = match (at.and_then(|at| rest.split_at_checked(at)), rest) {
        (Some((what, ["at", time @ ..])), _) => (what.concat(), Some(time.concat())),
        (_, [day, time @ ..]) if !time.is_empty() && days(day).is_some() => {
            ((*day).to_owned(), Some(time.concat()))
        }
        _ => (rest.concat(), None),
    };
    match time {
        None => match days(&what) {
            Some(_) => Err(unknown()),
            None => {
                let minutes = duration(text, &what)?;
                match minutes {
                    0 => Err(ScheduleError::NoInterval(shown(text))),
                    minutes => Ok(WrittenSchedule {
                        schedule: Schedule::Interval(minutes),
                        display: format!("every {minutes}m"),
                    }),
                }
            }
        },
        Some(time) => {
            let days = days(&what).or_else(|| match duration(text, &what) {
                Ok(1440) => Some("*".to_owned()),
                _ => None,
            });
            let (days, time) = days.zip(time_of_day(&time)).ok_or_else(unknown)?;
            cron(format!("{} {} * * {days}", time.minute(), time.hour()))
        }
    }
}

/// The field of cron for days that are called by their names.
fn days(names: &str) -> Option<String> {
    let number = |name: &str| {
        let name = name.strip_suffix('s').unwrap_or(name);
        let is_named =
            |day: &str| day == name || name.len() >= 3 && name.len() < 6 && day.starts_with(name);
        WEEKDAYS.iter().position(|day| is_named(day))
    };
    match names {
        "day" => Some("*".to_owned()),
        "weekday" => Some("1-5".to_owned()),
        "weekend" => Some("0,6".to_owned()),
        names => {
            let numbers: Option<Vec<String>> = names
                .split(',')
                .map(|name| number(name).map(|number| number.to_string()))
                .collect();
            Some(numbers?.join(","))
        }
    }
}

/// `9am`, `9:30pm`, `09:00` or `21:15`.
fn time_of_day(text: &str) -> Option<Time> {
    let (digits, noon) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(digits), _) => (digits, Some(false)),
        (None, Some(digits)) => (digits, Some(true)),
        (None, None) => (text, None),
    };
    let (hour, minute) = match digits.split_once(':') {
        Some((hour, minute)) if minute.len() == 2 => (hour, minute),
        None if noon.is_some() => (digits, "00"),
        _ => return None,
    };
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match noon {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(after) => hour % 12 + if after { 12 } else { 0 },
    };
    Time::new(hour, minute, 0, 0).ok()
}

/// `in 30m`, and `30m` alone.
fn in_a_while(text: &str, span: &str, now: &Zoned) -> Result<WrittenSchedule, ScheduleError> {
    let minutes = duration(text, span)?;
    let at = now.timestamp().checked_add(minutes_of(minutes));
    let at = at.map_err(|_| ScheduleError::TooLong(shown(text)))?;
    Ok(WrittenSchedule {
        schedule: Schedule::Once(at),
        display: format!("once in {span}"),
    })
}

/// The minutes of `30m`, `2h`, `1d`, `90 minutes`.
fn duration(text: &str, span: &str) -> Result<u32, ScheduleError> {
    let unknown = || ScheduleError::Unknown(shown(text));
    let digits = span.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = span.split_at_checked(digits).ok_or_else(unknown)?;
    let unit = match unit {
        "m" | "min" | "mins" | "minute" | "minutes" => 1,
        "h" | "hr" | "hrs" | "hour" | "hours" => 60,
        "d" | "day" | "days" => 1440,
        "w" | "week" | "weeks" => 7 * 1440,
        _ => return Err(unknown()),
    };
    // `every hour` means one.
    let number = match number {
        "" if text.to_lowercase().starts_with("every") && span.len() > 2 => "1",
        "" => return Err(unknown()),
        number => number,
    };
    let minutes: Option<u32> = number.parse().ok();
    minutes
        .and_then(|number| number.checked_mul(unit))
        .filter(|minutes| *minutes <= LONGEST_MINUTES)
        .ok_or_else(|| ScheduleError::TooLong(shown(text)))
}

fn macro_of(text: &str, name: &str) -> Result<WrittenSchedule, ScheduleError> {
    let fields = match name {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        _ => return Err(ScheduleError::Unknown(shown(text))),
    };
    Ok(WrittenSchedule {
        display: name.to_owned(),
        ..patterned(text, fields)?
    })
}

fn patterned(text: &str, fields: &str) -> Result<WrittenSchedule, ScheduleError> {
    let pattern = CronPattern::parse(fields).map_err(|reason| ScheduleError::Pattern {
        text: shown(text),
        reason,
    })?;
    Ok(WrittenSchedule {
        display: pattern.expression().to_owned(),
        schedule: Schedule::Cron(pattern),
    })
}

fn looks_like_date(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.by_ref().take(4).all(|byte| byte.is_ascii_digit()) && bytes.next() == Some(b'-')
}

/// The moment of a date and time, in the zone of `now` unless it names an offset.
fn moment(text: &str, now: &Zoned) -> Result<Timestamp, ScheduleError> {
    let upper = text.to_uppercase();
    if let Ok(moment) = upper.parse::<Timestamp>() {
        return Ok(moment);
    }
    let civil: DateTime = upper.parse().map_err(|_| ScheduleError::Moment {
        text: shown(text),
        reason: "it has to look like 2027-02-03T14:00, with or without +02:00".to_owned(),
    })?;
    first_moment(civil, now.time_zone()).ok_or_else(|| ScheduleError::Moment {
        text: shown(text),
        reason: "no clock shows it".to_owned(),
    })
}

/// The moment at which a clock of this zone first shows this time, or jumps over it.
pub(crate) fn first_moment(civil: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(civil);
    match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(civil).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(civil).ok(),
        AmbiguousOffset::Gap { before, .. } => {
            let beyond = before.to_timestamp(civil).ok()?;
            // A moment that is itself the transition does not precede itself.
            let beyond = beyond.checked_add(SignedDuration::from_nanos(1)).ok()?;
            Some(zone.preceding(beyond).next()?.timestamp())
        }
    }
}

fn minutes_of(minutes: u32) -> SignedDuration {
    SignedDuration::from_mins(i64::from(minutes))
}

/// The text, cut for a message.
fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(80).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
