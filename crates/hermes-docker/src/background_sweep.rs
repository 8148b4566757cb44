//! The one sweep of a process: begun before a container is made, out of everybody's way.
//!
//! It looks around at once, on a thread of its own. It removes only while nobody waits for the engine:
//! at first for a moment, then when the first command has had its time, or when the process is about
//! to end, which waits for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a pass may take, not counting the time it lets others go first.
pub(crate) const PASS_LIMIT: Duration = Duration::from_secs(2);
/// How long making a container may wait for the sweep.
const HEAD_START: Duration = Duration::from_millis(50);
/// How long the first command has the engine to itself.
const COURTESY: Duration = Duration::from_secs(1);
/// For the call under way when the time of a pass is over, and for the record.
const SLACK: Duration = Duration::from_millis(500);

/// Where the sweep of this process stands.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_begun: bool,
    is_over: bool,
    removal: Removal,
}

/// Whether the sweep may remove containers now.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Removal {
    #[default]
    Allowed,
    /// A container is being made or found.
    Held,
    /// The first command may be running.
    HeldUntil(Instant),
    /// The process is about to end: all that is left goes, or is recorded.
    Last,
    /// There is no time left.
    Stopped,
}

impl Sweep {
    /// Begins the sweep if it has not been made by this process, and gives it a moment before the
    /// engine has other things to do.
    pub(crate) fn before_creation(self: &Arc<Self>, work: impl FnOnce() + Send + 'static) {
        if !self.begin(work, Removal::Allowed) {
            return;
        }
        let (mut state, _) = self
            .changed
            .wait_timeout_while(self.lock(), HEAD_START, |state| !state.is_over)
            .unwrap_or_else(PoisonError::into_inner);
        if !state.is_over {
            state.removal = Removal::Held;
        }
    }

    /// The container is there, or cannot be had: the first command comes next.
    pub(crate) fn behind_first_command(self: &Arc<Self>, work: impl FnOnce() + Send + 'static) {
        let later = Removal::HeldUntil(Instant::now() + COURTESY);
        if !self.begin(work, later) {
            let mut state = self.lock();
            if state.removal == Removal::Held {
                state.removal = later;
                drop(state);
                self.changed.notify_all();
            }
        }
    }

    /// Waits for the end of the sweep, at most for `limit`. What it cannot do by then is recorded
    /// for the next command.
    pub(crate) fn finish(&self, limit: Duration) {
        let mut state = self.lock();
        if !state.is_begun || state.is_over {
            return;
        }
        state.removal = Removal::Last;
        drop(state);
        self.changed.notify_all();
        let limit = limit.min(PASS_LIMIT + SLACK);
        if !self.is_over_within(limit) {
            self.lock().removal = Removal::Stopped;
            self.changed.notify_all();
            self.is_over_within(SLACK);
        }
    }

    /// Whether containers may be removed, once that is decided.
    pub(crate) fn may_remove(&self) -> bool {
        let mut state = self.lock();
        loop {
            let wait = match state.removal {
                Removal::Allowed | Removal::Last => return true,
                Removal::Stopped => return false,
                Removal::Held => None,
                Removal::HeldUntil(then) => {
                    let left = then.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return true;
                    }
                    Some(left)
                }
            };
            state = match wait {
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Starts the thread; `false` if the sweep was begun before.
    fn begin(self: &Arc<Self>, work: impl FnOnce() + Send + 'static, removal: Removal) -> bool {
        let mut state = self.lock();
        if state.is_begun {
            return false;
        }
        state.is_begun = true;
        state.removal = removal;
        drop(state);
        let sweep = Arc::clone(self);
        let started = std::thread::Builder::new()
            .name("sandbox-reaper".to_owned())
            .spawn(move || {
                work();
                sweep.end();
            });
        if let Err(error) = started {
            tracing::debug!(%error, "could not sweep old containers");
            self.end();
        }
        true
    }

    fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    fn is_over_within(&self, limit: Duration) -> bool {
        let (state, _) = self
            .changed
            .wait_timeout_while(self.lock(), limit, |state| !state.is_over)
            .unwrap_or_else(PoisonError::into_inner);
        state.is_over
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
