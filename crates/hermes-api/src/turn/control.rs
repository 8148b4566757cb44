//! The handle by which a turn is stopped: by a client that has gone, a request, or the server's end.

use std::sync::{Arc, Mutex, PoisonError};

use hermes_proc::Wake;

/// Stops a turn, at any moment of its life, and never a later one of the same conversation.
#[derive(Debug, Default)]
pub(crate) struct TurnControl {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_stopped: bool,
    /// What interrupts the conversation, while the turn runs in it.
    running: Option<Arc<Wake>>,
}

impl TurnControl {
    /// Ends the turn at its next safe point, or before it begins.
    pub(crate) fn stop(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_stopped = true;
        if let Some(interrupt) = &state.running {
            interrupt.raise();
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_stopped
    }

    /// The turn begins in a conversation with this flag.
    pub(super) fn begin(&self, interrupt: &Arc<Wake>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        interrupt.clear();
        if state.is_stopped {
            interrupt.raise();
        }
        state.running = Some(Arc::clone(interrupt));
    }

    /// The turn is over; what comes now is too late.
    pub(super) fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running = None;
    }
}
