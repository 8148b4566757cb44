//! When a quota resets, read from headers, bodies and sentences.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use regex::Regex;
use serde_json::Value;

use super::report::ErrorReport;
use crate::http::Head;

/// Times further away than this are ignored.
const MAX_WAIT: Duration = Duration::from_hours(24 * 40);

/// Larger numbers are milliseconds, not seconds.
const MILLISECONDS_FROM: f64 = 1e11;

static SPAN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?:resets? in|reset after|try again in|retry in|quotaresetdelay\W{0,6})\s*((?:[0-9]+(?:\.[0-9]+)?\s*(?:ms|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)[ ,]*(?:and )?)+)",
    )
    .ok()
});

static UNIT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|d|h|m|s)").ok());

/// How long the provider asks to wait.
pub(super) fn retry_after(
    head: Option<&Head>,
    report: &ErrorReport,
    now: SystemTime,
) -> Option<Duration> {
    let header = |name| head.and_then(|head| head.header(name));
    header("retry-after-ms")
        .and_then(|text| span(text.trim().parse::<f64>().ok()? / 1_000.0))
        .or_else(|| header_time(header("retry-after")?, now))
        .or_else(|| stated_delay(report))
}

/// The delay stated in the body.
fn stated_delay(report: &ErrorReport) -> Option<Duration> {
    found_number(&report.value, &["retry_after"])
        .and_then(span)
        .or_else(|| delay_in_sentence(&report.all))
}

/// When the quota resets, if stated; what the body says comes first.
pub(super) fn reset_at(
    head: Option<&Head>,
    report: &ErrorReport,
    now: SystemTime,
) -> Option<SystemTime> {
    let keys = ["resets_at", "reset_at"];
    found_number(&report.value, &keys)
        .and_then(|number| moment(number, now))
        .or_else(|| {
            let text = found_text(&report.value, &keys)?;
            let at: jiff::Timestamp = text.parse().ok()?;
            Some(SystemTime::from(at)).filter(|at| plausible(*at, now))
        })
        .or_else(|| now.checked_add(stated_delay(report)?))
        .or_else(|| now.checked_add(retry_after(head, report, now)?))
        .or_else(|| {
            let names = ["x-ratelimit-reset", "x-ratelimit-reset-requests"];
            names.into_iter().find_map(|name| {
                let number = head?.header(name)?.trim().parse().ok()?;
                moment(number, now)
            })
        })
}

/// Seconds, or an HTTP date.
fn header_time(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return span(seconds);
    }
    let at = jiff::fmt::rfc2822::parse(text).ok()?;
    let at = SystemTime::from(at.timestamp());
    Some(at.duration_since(now).unwrap_or_default()).filter(|wait| *wait < MAX_WAIT)
}

fn span(seconds: f64) -> Option<Duration> {
    (seconds.is_finite() && seconds >= 0.0 && seconds < MAX_WAIT.as_secs_f64())
        .then(|| Duration::from_secs_f64(seconds))
}

/// Seconds or milliseconds since 1970; small numbers are seconds from now.
fn moment(number: f64, now: SystemTime) -> Option<SystemTime> {
    if !number.is_finite() || number < 0.0 {
        return None;
    }
    if number < MAX_WAIT.as_secs_f64() {
        return now.checked_add(Duration::from_secs_f64(number));
    }
    let seconds = if number >= MILLISECONDS_FROM {
        number / 1_000.0
    } else {
        number
    };
    let since = Duration::try_from_secs_f64(seconds).ok()?;
    let at = UNIX_EPOCH.checked_add(since)?;
    plausible(at, now).then_some(at)
}

fn plausible(at: SystemTime, now: SystemTime) -> bool {
    at.duration_since(now).is_ok_and(|wait| wait < MAX_WAIT)
}

/// "resets in 4hr 5min", "try again in 1.5s".
fn delay_in_sentence(text: &str) -> Option<Duration> {
    let found = SPAN.as_ref()?.captures(text)?;
    let words = found.get(1)?.as_str();
    let seconds = UNIT
        .as_ref()?
        .captures_iter(words)
        .filter_map(|part| {
            let number: f64 = part.get(1)?.as_str().parse().ok()?;
            Some(match part.get(2)?.as_str() {
                "d" => number * 86_400.0,
                "h" => number * 3_600.0,
                "m" => number * 60.0,
                "ms" => number / 1_000.0,
                _ => number,
            })
        })
        .sum();
    span(seconds)
}

fn found_number(value: &Value, keys: &[&str]) -> Option<f64> {
    found(value, keys, 0, &|value| match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    })
}

fn found_text(value: &Value, keys: &[&str]) -> Option<String> {
    found(value, keys, 0, &|value| value.as_str().map(str::to_owned))
}

/// The first value under one of the keys, at up to five levels.
fn found<T>(
    value: &Value,
    keys: &[&str],
    depth: usize,
    read: &dyn Fn(&Value) -> Option<T>,
) -> Option<T> {
    let map = value.as_object().filter(|_| depth < 5)?;
    keys.iter()
        .find_map(|key| map.get(*key).and_then(read))
        .or_else(|| {
            map.values()
                .find_map(|inner| found(inner, keys, depth + 1, read))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<u64> {
        delay_in_sentence(text).map(|wait| wait.as_secs())
    }

    #[test]
    fn delays_in_sentences_are_read() {
        assert_eq!(
            seconds("usage limit reached. resets in 4hr 5min"),
            Some(14_700)
        );
        assert_eq!(seconds("please try again in 1.5s."), Some(1));
        assert_eq!(seconds("try again in 2 hours and 10 minutes"), Some(7_800));
        assert_eq!(seconds("\"quotaresetdelay\": \"3h22m10s\""), Some(12_130));
        assert_eq!(seconds("try again in 250ms"), Some(0));
        assert_eq!(seconds("try again later"), None);
    }

    #[test]
    fn moment_is_seconds_milliseconds_or_relative() {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let at = |number| moment(number, now).map(|at| at.duration_since(now).unwrap().as_secs());
        assert_eq!(at(60.0), Some(60));
        assert_eq!(at(1_700_000_100.0), Some(100));
        assert_eq!(at(1_700_000_100_000.0), Some(100));
        assert_eq!(at(1_600_000_000.0), None);
        assert_eq!(at(f64::NAN), None);
        assert_eq!(at(1e30), None);
    }

    #[test]
    fn retry_after_header_may_be_a_date() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(
            header_time("Sun, 06 Nov 1994 08:49:47 GMT", now),
            Some(Duration::from_secs(10))
        );
        assert_eq!(header_time("1.5", now), Some(Duration::from_millis(1_500)));
        assert_eq!(header_time("soon", now), None);
    }
}
