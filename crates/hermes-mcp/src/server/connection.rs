//! A connection that calls share. Its keeper owns what is behind it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::service::Peer;
use tokio::sync::{Notify, watch};

use crate::fault::Fault;

pub(super) struct Connection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) fault: Fault,
    pub(super) opened: Instant,
    /// Asks the keeper to close.
    pub(super) closing: Notify,
    pub(super) is_closed: watch::Sender<bool>,
    /// Whether no further request is made on it: it is about to be closed.
    is_retired: AtomicBool,
    last_used: Mutex<Instant>,
    in_flight: AtomicUsize,
}

impl Connection {
    pub(super) fn new(peer: Peer<RoleClient>, fault: Fault) -> Arc<Self> {
        let now = Instant::now();
        Arc::new(Self {
            peer,
            fault,
            opened: now,
            closing: Notify::new(),
            is_closed: watch::Sender::new(false),
            is_retired: AtomicBool::new(false),
            last_used: Mutex::new(now),
            in_flight: AtomicUsize::new(0),
        })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.is_retired.load(Ordering::Relaxed) && !self.peer.is_transport_closed()
    }

    /// Lets the next call make a connection of its own.
    pub(super) fn retire(&self) {
        self.is_retired.store(true, Ordering::Relaxed);
    }

    /// Notes a request for as long as the answer lives.
    pub(super) fn in_use(self: &Arc<Self>) -> InUse {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.touch();
        InUse(Arc::clone(self))
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) > 0
    }

    pub(super) fn touch(&self) {
        *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn idle_for(&self) -> Duration {
        let used = self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        used.elapsed()
    }

    /// Closes the connection and waits until its process is gone.
    pub(super) async fn close(&self) {
        self.closing.notify_one();
        let mut closed = self.is_closed.subscribe();
        // Fails when the keeper is gone, and with it the connection.
        drop(closed.wait_for(|is_closed| *is_closed).await);
    }
}

/// A request under way.
pub(super) struct InUse(Arc<Connection>);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.0.touch();
    }
}
