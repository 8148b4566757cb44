//! Ends turns of which nothing is heard any more (`agent.gateway_timeout`).

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use super::control::{StopCause, TurnControl};

/// When a turn was last heard of.
#[derive(Debug)]
pub(super) struct Pulse {
    state: Mutex<PulseState>,
    pub(super) limit: Duration,
}

#[derive(Debug)]
struct PulseState {
    heard: Instant,
    /// Calls under way: tools have limits of their own.
    calls: usize,
}

impl Pulse {
    fn new(limit: Duration) -> Self {
        Self {
            state: Mutex::new(PulseState {
                heard: Instant::now(),
                calls: 0,
            }),
            limit,
        }
    }

    pub(super) fn beat(&self, calls: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.heard = Instant::now();
        state.calls = calls;
    }

    /// How long the turn may still be silent; `None` if it was for too long.
    fn left(&self) -> Option<Duration> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.calls > 0 {
            return Some(self.limit);
        }
        let left = self.limit.saturating_sub(state.heard.elapsed());
        (!left.is_zero()).then_some(left)
    }
}

/// Listens to the pulse of a turn until dropped: what waits for half an hour must not outlive its turn.
#[derive(Debug)]
pub(super) struct SilenceWatch {
    pulse: Arc<Pulse>,
    task: AbortHandle,
}

impl SilenceWatch {
    /// Stops the turn once nothing was heard of it for this long.
    pub(super) fn start(limit: Duration, control: Arc<TurnControl>) -> Self {
        let pulse = Arc::new(Pulse::new(limit));
        let task = tokio::spawn(watch(Arc::clone(&pulse), control));
        Self {
            pulse,
            task: task.abort_handle(),
        }
    }
}

impl Deref for SilenceWatch {
    type Target = Pulse;

    fn deref(&self) -> &Pulse {
        &self.pulse
    }
}

impl Drop for SilenceWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn watch(pulse: Arc<Pulse>, control: Arc<TurnControl>) {
    while let Some(left) = pulse.left() {
        tokio::time::sleep(left).await;
    }
    control.stop(StopCause::Silence);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().build().unwrap()
    }

    #[test]
    fn nothing_of_a_turn_that_is_over_waits_for_its_limit() {
        let runtime = runtime();
        runtime.block_on(async {
            let control = Arc::new(TurnControl::default());
            let limit = Duration::from_hours(1);
            let watches: Vec<SilenceWatch> = (0..50)
                .map(|_| SilenceWatch::start(limit, Arc::clone(&control)))
                .collect();
            tokio::task::yield_now().await;
            assert_eq!(
                tokio::runtime::Handle::current()
                    .metrics()
                    .num_alive_tasks(),
                50
            );
            drop(watches);
            tokio::task::yield_now().await;
            assert_eq!(
                tokio::runtime::Handle::current()
                    .metrics()
                    .num_alive_tasks(),
                0
            );
            assert_eq!(Arc::strong_count(&control), 1);
        });
    }

    #[test]
    fn a_silent_turn_is_stopped_and_one_that_calls_a_tool_is_not() {
        let runtime = runtime();
        runtime.block_on(async {
            let control = Arc::new(TurnControl::default());
            let limit = Duration::from_millis(20);
            let watch = SilenceWatch::start(limit, Arc::clone(&control));
            watch.beat(1);
            tokio::time::sleep(limit * 4).await;
            assert_eq!(control.cause(), None);
            watch.beat(0);
            tokio::time::sleep(limit * 4).await;
            assert_eq!(control.cause(), Some(StopCause::Silence));
        });
    }
}
