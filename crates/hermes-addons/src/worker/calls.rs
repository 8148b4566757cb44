//! How many calls of a feature run at once, and how many may wait.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_proc::Wake;

use crate::error::{AddonError, Code, Result};

/// Calls that run at once, and that wait for their turn.
const AT_ONCE: usize = 8;
const QUEUED: usize = 64;
/// How often a call that waits looks whether it was taken back.
const PERIOD: Duration = Duration::from_millis(200);

/// The calls of one feature.
#[derive(Debug, Default)]
pub(super) struct Calls {
    count: Mutex<Counts>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Counts {
    running: usize,
    queued: usize,
}

/// A call that runs, until dropped.
pub(super) struct Turn<'a>(&'a Calls);

impl Calls {
    /// Waits for the turn of a call.
    pub(super) fn enter(&self, deadline: Instant, interrupt: &Wake) -> Result<Turn<'_>> {
        let mut counts = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.running >= AT_ONCE {
            if counts.queued >= QUEUED {
                let reason = format!("{AT_ONCE} calls run and {QUEUED} wait already");
                return Err(AddonError::new(Code::Overloaded, reason).hint("try again shortly"));
            }
            counts.queued += 1;
            while counts.running >= AT_ONCE {
                let waited = self.freed.wait_timeout(counts, PERIOD);
                (counts, _) = waited.unwrap_or_else(PoisonError::into_inner);
                if interrupt.is_raised() || Instant::now() >= deadline {
                    counts.queued -= 1;
                    return Err(ended_early(interrupt));
                }
            }
            counts.queued -= 1;
        }
        counts.running += 1;
        Ok(Turn(self))
    }
}

/// The error of a call that was not waited for.
pub(super) fn ended_early(interrupt: &Wake) -> AddonError {
    if interrupt.is_raised() {
        AddonError::new(Code::Cancelled, "the call was interrupted")
    } else {
        AddonError::new(Code::Timeout, "the call took too long")
            .hint("allow more time with addons.worker.call_timeout_seconds")
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut counts = self.0.count.lock().unwrap_or_else(PoisonError::into_inner);
        counts.running -= 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ninth_call_waits_and_the_seventy_third_is_refused() {
        let calls = Calls::default();
        let interrupt = Wake::new().unwrap();
        let soon = Instant::now() + Duration::from_mins(1);
        let mut running: Vec<Turn<'_>> = (0..AT_ONCE)
            .map(|_| calls.enter(soon, &interrupt).unwrap())
            .collect();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| calls.enter(soon, &interrupt).is_ok());
            while calls.count.lock().unwrap().queued == 0 {
                std::thread::yield_now();
            }
            running.pop();
            assert!(waiting.join().unwrap());
        });
        // The turn of the one that waited ended with its thread.
        running.push(calls.enter(soon, &interrupt).unwrap());
        calls.count.lock().unwrap().queued = QUEUED;
        let refused = calls.enter(soon, &interrupt).err().unwrap();
        assert_eq!(refused.code, Code::Overloaded);
        calls.count.lock().unwrap().queued = 0;
        interrupt.raise();
        let refused = calls.enter(soon, &interrupt).err().unwrap();
        assert_eq!(refused.code, Code::Cancelled);
    }
}
