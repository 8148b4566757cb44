//! How soon a tick may follow another.
//!
//! Whoever writes to a board is noticed with the first byte, which is before the write is committed:
//! the tick that follows may come too early, and the next one must not be late for that. What a tick
//! itself writes is noticed as well. So the pauses begin short and grow while changes keep coming.

use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(5);
/// The pause while changes keep coming. A board that was quiet for as long begins anew.
const LONGEST: Duration = Duration::from_millis(100);
/// The most that a tick that takes long is followed by.
const AFTER_LONG_TICK: Duration = Duration::from_secs(1);

/// The pauses of one loop.
#[derive(Debug)]
pub(crate) struct Pace {
    next: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { next: SHORTEST }
    }
}

impl Pace {
    /// What is left to wait after a tick that took so long, and after which the first change came so
    /// late. A loop spends at most half of its time on ticks.
    pub(crate) fn rest(&mut self, took: Duration, quiet: Duration) -> Duration {
        if quiet >= LONGEST {
            self.next = SHORTEST;
        }
        let pause = self.next.max(took.min(AFTER_LONG_TICK));
        if quiet < LONGEST {
            self.next = (self.next * 2).min(LONGEST);
        }
        pause.saturating_sub(quiet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    #[test]
    fn a_change_that_comes_with_the_first_byte_of_a_card_does_not_delay_its_worker() {
        let mut pace = Pace::default();
        // Three ticks come too early, and still the fourth comes within 50 ms.
        let waits: Duration = (0..3).map(|_| pace.rest(ms(3), ms(1)) + ms(4)).sum();
        assert!(waits < ms(50), "{waits:?}");
    }

    #[test]
    fn changes_that_keep_coming_are_taken_together() {
        let mut pace = Pace::default();
        let waits: Vec<u128> = (0..7)
            .map(|_| pace.rest(ms(3), ms(0)).as_millis())
            .collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 100, 100]);
        assert_eq!(pace.rest(ms(3), ms(100)), ms(0));
        assert_eq!(pace.rest(ms(3), ms(0)), ms(5));
    }

    #[test]
    fn a_large_board_takes_half_of_the_time_at_most() {
        let mut pace = Pace::default();
        assert_eq!(pace.rest(ms(400), ms(0)), ms(400));
        assert_eq!(pace.rest(ms(400), ms(300)), ms(100));
        assert_eq!(pace.rest(ms(9000), ms(0)), ms(1000));
    }
}
