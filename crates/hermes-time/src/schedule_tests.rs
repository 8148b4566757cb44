use jiff::civil::date;
use pretty_assertions::assert_eq;

use super::*;

fn zone(name: &str) -> TimeZone {
    crate::named(name).unwrap()
}

fn now() -> Zoned {
    let now = date(2026, 11, 17).at(9, 0, 0, 0);
    now.to_zoned(zone("Europe/Berlin")).unwrap()
}

fn parsed(text: &str) -> Result<WrittenSchedule, ScheduleError> {
    Schedule::parse(text, &now())
}

/// The next runs, as local times with their offsets.
fn runs(text: &str, start: &str, name: &str, count: usize) -> Vec<String> {
    let zone = zone(name);
    let start: DateTime = start.parse().unwrap();
    let start = start.to_zoned(zone.clone()).unwrap();
    let schedule = Schedule::parse(text, &start).unwrap().schedule;
    let mut moment = start.timestamp();
    let mut runs = Vec::new();
    while runs.len() < count {
        moment = schedule.next_after(moment, &zone).unwrap();
        let local = moment.to_zoned(zone.clone());
        runs.push(local.strftime("%m-%d %H:%M%:z").to_string());
    }
    runs
}

#[test]
fn every_documented_form_is_understood() {
    let minutes = |written: WrittenSchedule| match written.schedule {
        Schedule::Interval(minutes) => minutes,
        other => panic!("{other:?}"),
    };
    for (text, expected) in [
        ("every 30m", 30),
        ("Every 2 hours", 120),
        ("every 1d", 1440),
        ("every hour", 60),
        ("every 366d", 527_040),
    ] {
        assert_eq!(minutes(parsed(text).unwrap()), expected, "{text}");
    }
    for (text, after) in [("30m", 30), ("in 2h", 120), (" 1 day ", 1440), ("0m", 0)] {
        let at = now().timestamp() + minutes_of(after);
        let written = parsed(text).unwrap();
        assert_eq!(written.schedule, Schedule::Once(at), "{text}");
    }
    for (text, expression, display) in [
        ("0 9 * * *", "0 9 * * *", "0 9 * * *"),
        ("0 9 * * MON", "0 9 * * 1", "0 9 * * 1"),
        ("0 9 * JAN,dec mon-FRI", "0 9 * 1,12 1-5", "0 9 * 1,12 1-5"),
        ("*/5 * * * * 30", "*/5 * * * * 30", "*/5 * * * * 30"),
        ("@daily", "0 0 * * *", "@daily"),
        ("@Hourly", "0 * * * *", "@hourly"),
        ("every 1d at 09:00", "0 9 * * *", "every 1d at 09:00"),
        ("every day at 9:30pm", "30 21 * * *", "every day at 9:30pm"),
        ("every Monday 9am", "0 9 * * 1", "every monday 9am"),
        (
            "every mon,fri at 12am",
            "0 0 * * 1,5",
            "every mon,fri at 12am",
        ),
        ("every weekday 07:15", "15 7 * * 1-5", "every weekday 07:15"),
    ] {
        let written = parsed(text).unwrap();
        assert_eq!(written.display, display, "{text}");
        match written.schedule {
            Schedule::Cron(pattern) => assert_eq!(pattern.expression(), expression, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    for (text, utc) in [
        ("2027-02-03T14:00", "2027-02-03T13:00:00Z"),
        ("2027-07-03 14:00:30", "2027-07-03T12:00:30Z"),
        ("2027-02-03", "2027-02-02T23:00:00Z"),
        ("2027-02-03T14:00Z", "2027-02-03T14:00:00Z"),
        ("2027-02-03T14:00-05:00", "2027-02-03T19:00:00Z"),
        // Left out by the clock: the next minute there is.
        ("2027-03-28T02:30", "2027-03-28T01:00:00Z"),
        // There twice: the first.
        ("2026-10-25T02:30", "2026-10-25T00:30:00Z"),
    ] {
        let at: Timestamp = utc.parse().unwrap();
        assert_eq!(parsed(text).unwrap().schedule, Schedule::Once(at), "{text}");
    }
}

#[test]
fn what_is_no_schedule_is_refused_with_the_reason() {
    for (text, part) in [
        ("every 0m", "would run all the time"),
        ("every 367d", "longer than 366 days"),
        ("every 99999999999m", "longer than 366 days"),
        ("61 * * * *", "'61' is no minute (0 to 59)"),
        ("* 24 * * *", "'24' is no hour"),
        ("* * 0 * *", "is no day of the month"),
        ("* * * 13 *", "is no month"),
        ("* * * * 8", "is no day of the week"),
        ("*/0 * * * *", "no step"),
        ("* * * * FOO", "foo is no day of the week"),
        ("0 9 L * *", "l is no day of the month"),
        ("0 9 * * 1#2", "'#' has no meaning"),
        ("0 9 ,1 * *", "'' is no day"),
        ("1 2 3 4 5 6 7", "7 fields"),
        ("0 9 31 2 *", "matches no date"),
        ("2027-02-30", "not a usable date"),
        ("2027-13-01T10:00", "not a usable date"),
        ("every", "is not a schedule"),
        ("every monday", "is not a schedule"),
        ("every 2d at 09:00", "is not a schedule"),
        ("every monday 25:00", "is not a schedule"),
        ("every monday 13pm", "is not a schedule"),
        ("@fortnightly", "is not a schedule"),
        ("tomorrow", "is not a schedule"),
        ("", "is not a schedule"),
        ("30", "is not a schedule"),
        ("-5m", "is not a schedule"),
    ] {
        let error = parsed(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn what_the_reference_understands_is_written_out() {
    let local = |text, count| runs(text, "2026-11-17T21:30", "UTC", count);
    assert_eq!(
        local("0 22-1 * * *", 5),
        [
            "11-17 22:00+00:00",
            "11-17 23:00+00:00",
            "11-18 00:00+00:00",
            "11-18 01:00+00:00",
            "11-18 22:00+00:00"
        ]
    );
    assert_eq!(
        local("10/20 * * * *", 3),
        [
            "11-17 21:50+00:00",
            "11-17 22:10+00:00",
            "11-17 22:30+00:00"
        ]
    );
    assert_eq!(
        local("0 9 * * 6-7", 3),
        [
            "11-21 09:00+00:00",
            "11-22 09:00+00:00",
            "11-28 09:00+00:00"
        ]
    );
    assert_eq!(
        local("*/70 * * * *", 2),
        ["11-17 22:00+00:00", "11-17 23:00+00:00"]
    );
    // Either day will do, as in every cron.
    assert_eq!(
        local("0 9 1 * 1", 2),
        ["11-23 09:00+00:00", "11-30 09:00+00:00"]
    );
}

#[test]
fn a_time_that_the_clock_leaves_out_runs_at_the_next_minute_and_one_there_twice_runs_once() {
    assert_eq!(
        runs("30 2 * * *", "2027-03-27T12:00", "Europe/Berlin", 2),
        ["03-28 03:00+02:00", "03-29 02:30+02:00"]
    );
    assert_eq!(
        runs("30 2 * * *", "2026-10-24T12:00", "Europe/Berlin", 3),
        [
            "10-25 02:30+02:00",
            "10-26 02:30+01:00",
            "10-27 02:30+01:00"
        ]
    );
    assert_eq!(
        runs("30 2 * * *", "2027-03-13T12:00", "America/New_York", 2),
        ["03-14 03:00-04:00", "03-15 02:30-04:00"]
    );
    // Half an hour only.
    assert_eq!(
        runs("15 2 * * *", "2026-10-03T12:00", "Australia/Lord_Howe", 2),
        ["10-04 02:30+11:00", "10-05 02:15+11:00"]
    );
    // What runs all the time goes on at its pace.
    assert_eq!(
        runs("*/30 * * * *", "2026-10-25T01:40", "Europe/Berlin", 5),
        [
            "10-25 02:00+02:00",
            "10-25 02:30+02:00",
            "10-25 02:00+01:00",
            "10-25 02:30+01:00",
            "10-25 03:00+01:00"
        ]
    );
    assert_eq!(
        runs("0 * * * *", "2027-03-28T00:30", "Europe/Berlin", 3),
        [
            "03-28 01:00+01:00",
            "03-28 03:00+02:00",
            "03-28 04:00+02:00"
        ]
    );
}

#[test]
fn the_period_is_the_distance_of_two_runs() {
    let period = |text: &str| {
        let schedule = parsed(text).unwrap().schedule;
        schedule.period(now().timestamp(), now().time_zone())
    };
    assert_eq!(period("every 30m"), Some(SignedDuration::from_mins(30)));
    assert_eq!(period("0 9 * * *"), Some(SignedDuration::from_hours(24)));
    assert_eq!(period("30m"), None);
}
