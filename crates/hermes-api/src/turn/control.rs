//! The handle by which a turn is stopped: by a client that has gone, a request, the server's end, or
//! because nothing happens any more.

use std::sync::{Arc, Mutex, PoisonError};

use hermes_proc::Wake;

/// Why a turn is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// The client has gone, or asked for it.
    Client,
    /// The server ends.
    Server,
    /// Nothing was heard of the turn for too long.
    Silence,
}

/// Stops a turn, at any moment of its life, and never a later one of the same conversation.
#[derive(Debug, Default)]
pub(crate) struct TurnControl {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The first cause.
    stopped: Option<StopCause>,
    /// What interrupts the conversation, while the turn runs in it.
    running: Option<Arc<Wake>>,
}

impl TurnControl {
    /// Ends the turn at its next safe point, or before it begins.
    pub(crate) fn stop(&self, cause: StopCause) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.stopped.get_or_insert(cause);
        if let Some(interrupt) = &state.running {
            interrupt.raise();
        }
    }

    /// Why the turn was stopped; `None` if it was not.
    pub(crate) fn cause(&self) -> Option<StopCause> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.stopped
    }

    /// The turn begins in a conversation with this flag.
    pub(super) fn begin(&self, interrupt: &Arc<Wake>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        interrupt.clear();
        if state.stopped.is_some() {
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
