//! How often the screen is drawn: a key at once, everything else a little later, and never more
//! than sixty times a second.
//!
//! Half of the frames are kept for keys, so that a stream cannot use up what the next key needs. Who
//! types faster than that, as a key that is held down does, is shown at the pace of the stream.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Between frames that nobody waits for: no second has more than thirty of them.
const RELAXED: Duration = Duration::from_millis(34);
/// Frames within a second that are drawn at once for a key.
const FOR_KEYS: usize = 30;
const SECOND: Duration = Duration::from_secs(1);

/// The last frame, and those of the last second that were drawn early for a key.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last: Option<Instant>,
    early: VecDeque<Instant>,
}

impl Pace {
    /// How long the next frame has to wait.
    pub(super) fn wait(&self, is_for_key: bool, now: Instant) -> Duration {
        let relaxed = self.relaxed_wait(now);
        if !is_for_key {
            return relaxed;
        }
        let full = self.early.len() >= FOR_KEYS;
        let oldest = self.early.front().filter(|_| full);
        let early = oldest.map_or(Duration::ZERO, |oldest| {
            (*oldest + SECOND).saturating_duration_since(now)
        });
        relaxed.min(early)
    }

    /// Takes note of a frame.
    pub(super) fn drawn(&mut self, now: Instant) {
        if !self.relaxed_wait(now).is_zero() {
            self.early.push_back(now);
            if self.early.len() > FOR_KEYS {
                self.early.pop_front();
            }
        }
        self.last = Some(now);
    }

    fn relaxed_wait(&self, now: Instant) -> Duration {
        self.last.map_or(Duration::ZERO, |last| {
            (last + RELAXED).saturating_duration_since(now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// Every key is followed by its frame; text comes all the time. Gives the frames, and how long
    /// each key had to wait.
    fn typed(gap: u32, milliseconds: u32) -> (Vec<Instant>, Vec<Duration>) {
        let mut pace = Pace::default();
        let begun = Instant::now();
        let (mut frames, mut waits) = (Vec::new(), Vec::new());
        let mut waiting: Option<Instant> = None;
        for step in 0..milliseconds {
            let now = begun + MILLISECOND * step;
            if step % gap == gap / 2 && waiting.is_none() {
                waiting = Some(now);
            }
            if pace.wait(waiting.is_some(), now).is_zero() {
                pace.drawn(now);
                frames.push(now);
                waits.extend(waiting.take().map(|since| now.duration_since(since)));
            }
        }
        (frames, waits)
    }

    #[test]
    fn no_second_has_more_than_sixty_frames() {
        for gap in 1..60 {
            let (frames, _) = typed(gap, 4_000);
            for window in frames.windows(61) {
                assert!(window[60].duration_since(window[0]) >= SECOND, "{gap}");
            }
            assert!(frames.len() >= 116, "{gap}: {}", frames.len());
        }
    }

    #[test]
    fn a_key_never_waits_for_the_stream() {
        // Up to thirty keys a second.
        for gap in 34..80 {
            let (_, waits) = typed(gap, 10_000);
            assert!(waits.iter().all(Duration::is_zero), "{gap}: {waits:?}");
        }
    }

    #[test]
    fn a_key_that_is_held_down_is_shown_steadily() {
        for gap in 1..34 {
            let (_, waits) = typed(gap, 4_000);
            let longest = waits.iter().max();
            assert!(longest <= Some(&RELAXED), "{gap}: {longest:?}");
        }
    }
}
