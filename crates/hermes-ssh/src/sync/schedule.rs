//! When to look for changed files again.

use std::time::{Duration, Instant};

/// A failure that took longer than this is not repeated with every command.
const SLOW: Duration = Duration::from_secs(10);

/// At most one look per interval, unless the last one failed.
#[derive(Debug)]
pub(super) struct PushSchedule {
    interval: Duration,
    done: Option<Instant>,
    not_before: Option<Instant>,
}

impl PushSchedule {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            done: None,
            not_before: None,
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        let rested = |done: Instant| now.saturating_duration_since(done) >= self.interval;
        self.done.is_none_or(rested) && self.not_before.is_none_or(|time| now >= time)
    }

    pub(super) fn succeeded(&mut self, now: Instant) {
        self.done = Some(now);
        self.not_before = None;
    }

    /// The next command tries again at once, but not if that would cost it minutes: then a pause as
    /// long as the failure comes first.
    pub(super) fn failed(&mut self, started: Instant, now: Instant) {
        let took = now.saturating_duration_since(started);
        self.done = None;
        self.not_before = (took > SLOW).then(|| now + took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_seconds_of_peace_after_success_none_after_failure() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut schedule = PushSchedule::new(Duration::from_secs(5));
        assert!(schedule.is_due(start));
        schedule.succeeded(start);
        assert!(!schedule.is_due(after(4)));
        assert!(schedule.is_due(after(5)));
        schedule.failed(after(5), after(6));
        assert!(schedule.is_due(after(6)));
    }

    #[test]
    fn a_slow_failure_is_not_repeated_with_every_command() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut schedule = PushSchedule::new(Duration::from_secs(5));
        schedule.failed(start, after(120));
        assert!(!schedule.is_due(after(239)));
        assert!(schedule.is_due(after(240)));
    }
}
