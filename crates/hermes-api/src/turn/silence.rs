//! Ends turns of which nothing is heard any more (`agent.gateway_timeout`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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
    pub(super) fn new(limit: Duration) -> Self {
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

/// Stops the turn once nothing was heard of it for too long. Ends with the turn.
pub(super) async fn watch(pulse: std::sync::Weak<Pulse>, control: Arc<TurnControl>) {
    loop {
        let left = match pulse.upgrade() {
            Some(pulse) => pulse.left(),
            None => return,
        };
        match left {
            Some(left) => tokio::time::sleep(left).await,
            None => return control.stop(StopCause::Silence),
        }
    }
}
