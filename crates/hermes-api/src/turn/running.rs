//! What the turns of a server share, and the place of each among those on their way.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::control::TurnControl;
use super::kept::KeptConversations;
use super::lease::Leases;
use super::open_store::OpenStore;
use crate::host::ApiHost;
use crate::ledger::TurnLedger;
use crate::metrics::Metrics;

/// What sessions of the server are filed under, and whose toolsets apply.
pub(crate) const SOURCE: &str = "api_server";

/// What all turns share.
pub(super) struct Shared {
    pub(super) host: Arc<dyn ApiHost>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) ledger: Arc<TurnLedger>,
    pub(super) leases: Leases,
    pub(super) kept: KeptConversations,
    pub(super) store: OpenStore,
    pub(super) running: Mutex<HashMap<u64, RunningTurn>>,
    /// Told whenever a turn is over.
    pub(super) over: Condvar,
    pub(super) last: AtomicU64,
}

/// A turn on its way.
pub(super) struct RunningTurn {
    pub(super) control: Arc<TurnControl>,
    /// Whether only the telling is left.
    pub(super) is_over: bool,
}

impl Shared {
    pub(super) fn running(&self) -> MutexGuard<'_, HashMap<u64, RunningTurn>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a turn among those on their way.
pub(super) struct RunningPlace {
    pub(super) shared: Arc<Shared>,
    pub(super) number: u64,
}

impl RunningPlace {
    /// Another turn may begin.
    pub(super) fn free(&self) {
        if let Some(turn) = self.shared.running().get_mut(&self.number) {
            turn.is_over = true;
        }
    }
}

impl Drop for RunningPlace {
    fn drop(&mut self) {
        let mut running = self.shared.running();
        running.remove(&self.number);
        self.shared.host.set_active(running.len());
        self.shared.over.notify_all();
    }
}
