//! One turn at a time per session: later ones wait for their place, in order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::ApiError;

/// Turns that may wait for one session.
const MOST_WAITING: usize = 64;

/// The sessions that have a turn now.
#[derive(Debug, Default)]
pub(super) struct Leases {
    sessions: Mutex<HashMap<String, Weak<SessionQueue>>>,
}

/// A session and who waits for it.
#[derive(Debug)]
struct SessionQueue {
    turn: Arc<Semaphore>,
}

/// The right to take the next turn of a session, until dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    _turn: OwnedSemaphorePermit,
    _place: Arc<SessionQueue>,
}

impl Leases {
    /// The session, if it is free.
    pub(super) fn try_take(&self, session: &str) -> Option<Lease> {
        let place = self.place(session).ok()?;
        let turn = Arc::clone(&place.turn).try_acquire_owned().ok()?;
        Some(Lease {
            _turn: turn,
            _place: place,
        })
    }

    /// Waits until the session is free.
    pub(super) async fn take(&self, session: &str) -> Result<Lease, ApiError> {
        let place = self.place(session)?;
        let turn = Arc::clone(&place.turn).acquire_owned().await;
        let turn = turn.map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(Lease {
            _turn: turn,
            _place: place,
        })
    }

    fn place(&self, session: &str) -> Result<Arc<SessionQueue>, ApiError> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        match sessions.get(session).and_then(Weak::upgrade) {
            // The holder and every waiter have one reference each.
            Some(place) if Arc::strong_count(&place) > MOST_WAITING => Err(ApiError::busy(
                format!("{MOST_WAITING} requests already wait for this session"),
                5,
            )),
            Some(place) => Ok(place),
            None => {
                sessions.retain(|_, place| place.strong_count() > 0);
                let place = Arc::new(SessionQueue {
                    turn: Arc::new(Semaphore::new(1)),
                });
                sessions.insert(session.to_owned(), Arc::downgrade(&place));
                Ok(place)
            }
        }
    }
}
