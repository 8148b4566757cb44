//! When a line of a process is worth a notice, and when there have been too many.
//!
//! Pure: time comes in as an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// At most one event of a process per window.
const WINDOW: Duration = Duration::from_secs(15);
/// Windows in a row with dropped lines before watching ends.
const STRIKES: u32 = 3;
/// Size of one event.
const MOST_LINES: usize = 20;
const MOST_CHARACTERS: usize = 2_000;

/// Of all processes together: more than this many events…
const BURST: usize = 15;
/// …in this time…
const BURST_TIME: Duration = Duration::from_secs(10);
/// …and there are none for this long.
const PAUSE: Duration = Duration::from_secs(30);

/// What one process's lines are compared with.
#[derive(Debug, Clone, Default)]
pub(super) struct Watch {
    patterns: Vec<String>,
    is_disabled: bool,
    window_end: Option<Instant>,
    dropped: usize,
    strikes: u32,
    pub(super) has_hit: bool,
}

/// What comes of matching lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WatchEvent {
    Match {
        pattern: String,
        lines: String,
    },
    /// Too much matched for too long: no more events.
    Disabled {
        dropped: usize,
    },
}

impl Watch {
    pub(super) fn new(patterns: Vec<String>) -> Self {
        Self {
            patterns,
            ..Self::default()
        }
    }

    pub(super) fn patterns(&self) -> &[String] {
        &self.patterns
    }

    pub(super) fn is_active(&self) -> bool {
        !self.is_disabled && !self.patterns.is_empty()
    }

    /// The first pattern a line contains.
    pub(super) fn pattern_in(&self, line: &str) -> Option<&str> {
        self.patterns
            .iter()
            .map(String::as_str)
            .find(|pattern| line.contains(pattern))
    }

    /// Lines that arrived together; says what to tell.
    pub(super) fn look_at(&mut self, lines: &[String], now: Instant) -> Option<WatchEvent> {
        if !self.is_active() {
            return None;
        }
        let matching: Vec<&String> = lines
            .iter()
            .filter(|line| self.pattern_in(line).is_some())
            .collect();
        let first = matching.first()?;
        let pattern = self.pattern_in(first)?.to_owned();
        self.has_hit = true;
        if self.window_end.is_some_and(|end| now < end) {
            return self.drop_lines(matching.len());
        }
        if self.dropped == 0 {
            self.strikes = 0;
        }
        self.dropped = 0;
        self.window_end = Some(now + WINDOW);
        Some(WatchEvent::Match {
            pattern,
            lines: excerpt(&matching),
        })
    }

    fn drop_lines(&mut self, count: usize) -> Option<WatchEvent> {
        if self.dropped == 0 {
            self.strikes += 1;
        }
        self.dropped += count;
        if self.strikes < STRIKES {
            return None;
        }
        self.is_disabled = true;
        Some(WatchEvent::Disabled {
            dropped: self.dropped,
        })
    }
}

fn excerpt(lines: &[&String]) -> String {
    let mut out = String::new();
    let mut room = MOST_CHARACTERS;
    for line in lines.iter().take(MOST_LINES) {
        if !out.is_empty() && room > 0 {
            out.push('\n');
            room -= 1;
        }
        let part: String = line.chars().take(room).collect();
        room -= part.chars().count();
        out.push_str(&part);
    }
    out
}

/// Stops a flood of events from many processes.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    recent: VecDeque<Instant>,
    open_until: Option<Instant>,
    suppressed: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Pass,
    /// It is not told, and neither are the next ones; that is told.
    Tripped,
    Suppressed,
}

impl Breaker {
    pub(super) fn admit(&mut self, now: Instant) -> Admission {
        if self.open_until.is_some() {
            self.suppressed += 1;
            return Admission::Suppressed;
        }
        while self
            .recent
            .front()
            .is_some_and(|then| now.saturating_duration_since(*then) >= BURST_TIME)
        {
            self.recent.pop_front();
        }
        if self.recent.len() >= BURST {
            self.open_until = Some(now + PAUSE);
            self.recent.clear();
            self.suppressed = 1;
            return Admission::Tripped;
        }
        self.recent.push_back(now);
        Admission::Pass
    }

    /// When to ask [`Breaker::release`].
    pub(super) fn release_at(&self) -> Option<Instant> {
        self.open_until
    }

    /// After the pause: how many events were suppressed.
    pub(super) fn release(&mut self, now: Instant) -> Option<usize> {
        self.open_until.filter(|end| now >= *end)?;
        self.open_until = None;
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn ready() -> Vec<String> {
        vec!["server READY on 80".to_owned()]
    }

    #[test]
    fn a_line_every_second_is_told_thrice_and_then_no_more() {
        let mut watch = Watch::new(vec!["READY".into()]);
        let start = Instant::now();
        let mut told = Vec::new();
        for second in 0..60 {
            let now = start + Duration::from_secs(second);
            if let Some(event) = watch.look_at(&ready(), now) {
                told.push((second, matches!(event, WatchEvent::Disabled { .. })));
            }
        }
        assert_eq!(told, [(0, false), (15, false), (30, false), (31, true)]);
        assert!(!watch.is_active());
    }

    #[test]
    fn a_quiet_window_forgives() {
        let mut watch = Watch::new(vec!["READY".into()]);
        let start = Instant::now();
        for round in 0..10 {
            let base = start + Duration::from_secs(100 * round);
            assert!(watch.look_at(&ready(), base).is_some());
            assert_eq!(watch.look_at(&ready(), base + Duration::from_secs(1)), None);
            let quiet = base + Duration::from_secs(50);
            assert!(matches!(
                watch.look_at(&ready(), quiet),
                Some(WatchEvent::Match { .. })
            ));
        }
    }

    #[test]
    fn other_lines_are_not_told_and_an_event_is_short() {
        let mut watch = Watch::new(vec!["x".into()]);
        let now = Instant::now();
        assert_eq!(watch.look_at(&["abc".into()], now), None);
        assert!(!watch.has_hit);
        let lines: Vec<String> = (0..50)
            .map(|n| format!("{n} {}", "x".repeat(300)))
            .collect();
        let Some(WatchEvent::Match { lines, .. }) = watch.look_at(&lines, now) else {
            panic!("not told");
        };
        assert_eq!(lines.chars().count(), 2000);
        let short: Vec<String> = (0..50).map(|n| format!("x{n}")).collect();
        let later = now + Duration::from_secs(20);
        let Some(WatchEvent::Match { lines, .. }) = watch.look_at(&short, later) else {
            panic!("not told");
        };
        assert_eq!(lines.lines().count(), 20);
    }

    #[test]
    fn the_breaker_trips_once_and_counts() {
        let mut breaker = Breaker::default();
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        for n in 0..15 {
            assert_eq!(breaker.admit(at(n)), Admission::Pass);
        }
        assert_eq!(breaker.admit(at(20)), Admission::Tripped);
        assert_eq!(breaker.admit(at(21)), Admission::Suppressed);
        assert_eq!(breaker.release(at(30_000)), None);
        assert_eq!(breaker.release(at(30_020)), Some(2));
        assert_eq!(breaker.admit(at(30_021)), Admission::Pass);
        for n in 0..100 {
            assert_eq!(
                breaker.admit(at(60_000 + n * 1000)),
                Admission::Pass,
                "a slow stream"
            );
        }
    }
}
