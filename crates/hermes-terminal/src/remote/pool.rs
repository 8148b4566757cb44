//! The channels of a host that serve more than one command.
//!
//! A channel is lent to one command at a time. It comes back only if its loop said how the command
//! ended, and is used again only when nothing of that command can write to it any more.

use std::sync::Mutex;

use super::channel::Channel;
use crate::lock::lock;

/// Idle channels, and how many are lent.
#[derive(Debug, Default)]
pub(super) struct Pool {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Channel>,
    /// Idle and lent together.
    count: usize,
    /// Counts the times everything was closed: what was lent before is not taken back.
    era: u64,
}

/// The right to use a channel of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    era: u64,
}

impl Pool {
    /// A channel that was used before, or room for a new one; nothing if `most` are in use.
    pub(super) fn take(&self, most: usize) -> Option<(Option<Channel>, Slot)> {
        let mut state = lock(&self.state);
        let slot = Slot { era: state.era };
        if let Some(channel) = state.idle.pop() {
            return Some((Some(channel), slot));
        }
        if state.count >= most {
            return None;
        }
        state.count += 1;
        Some((None, slot))
    }

    /// Takes a channel back; gives it to the caller if it is not wanted any more.
    pub(super) fn give_back(&self, channel: Channel, slot: Slot) -> Option<Channel> {
        let mut state = lock(&self.state);
        if state.era != slot.era {
            return Some(channel);
        }
        state.idle.push(channel);
        None
    }

    /// A channel that was lent, or room for one, is gone.
    pub(super) fn lose(&self, slot: Slot) {
        let mut state = lock(&self.state);
        if state.era == slot.era {
            state.count = state.count.saturating_sub(1);
        }
    }

    /// Takes all idle channels and forgets the others.
    pub(super) fn clear(&self) -> Vec<Channel> {
        let mut state = lock(&self.state);
        state.era += 1;
        state.count = 0;
        std::mem::take(&mut state.idle)
    }
}
