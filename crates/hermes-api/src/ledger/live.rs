//! The turns that this process still works on. A server that is started again in the same process must
//! not take up a turn whose thread has not ended yet.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

static LIVE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A turn that is being worked on, until dropped.
#[derive(Debug)]
pub(crate) struct LiveTurn(String);

impl LiveTurn {
    pub(crate) fn new(id: &str) -> Self {
        live().insert(id.to_owned());
        Self(id.to_owned())
    }

    pub(super) fn is_live(id: &str) -> bool {
        live().contains(id)
    }
}

impl Drop for LiveTurn {
    fn drop(&mut self) {
        live().remove(&self.0);
    }
}

fn live() -> MutexGuard<'static, BTreeSet<String>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}
