//! How often the screen is drawn: a key at once, everything else a little later, and never more
//! than sixty times a second.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Between frames that nobody waits for.
const RELAXED: Duration = Duration::from_millis(33);
/// Between frames that answer a key.
const EAGER: Duration = Duration::from_millis(2);
/// Frames within a second.
const MOST: usize = 60;
const SECOND: Duration = Duration::from_secs(1);

/// The frames of the last second.
#[derive(Debug, Default)]
pub(super) struct Pace {
    frames: VecDeque<Instant>,
}

impl Pace {
    /// How long the next frame has to wait.
    pub(super) fn wait(&self, is_for_key: bool, now: Instant) -> Duration {
        let gap = if is_for_key { EAGER } else { RELAXED };
        let after_last = self.frames.back().map(|last| *last + gap);
        let budget =
            (self.frames.len() >= MOST).then(|| self.frames.front().map(|first| *first + SECOND));
        let earliest = after_last.max(budget.flatten());
        earliest.map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }

    /// Takes note of a frame.
    pub(super) fn drawn(&mut self, now: Instant) {
        self.frames.push_back(now);
        while self.frames.len() > MOST
            || self
                .frames
                .front()
                .is_some_and(|first| now.duration_since(*first) > SECOND)
        {
            self.frames.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_second_has_more_than_sixty_frames() {
        let mut pace = Pace::default();
        let begun = Instant::now();
        let mut now = begun;
        let mut frames = Vec::new();
        for step in 0..2_000 {
            // A key every millisecond, text in between.
            if pace.wait(step % 2 == 0, now).is_zero() {
                pace.drawn(now);
                frames.push(now);
            }
            now += Duration::from_millis(1);
        }
        for window in frames.windows(MOST + 1) {
            assert!(window[MOST].duration_since(window[0]) >= SECOND);
        }
        assert!(frames.len() >= 100, "{}", frames.len());
    }
}
