//! Why a connection was given up, where the transport knows better than the protocol.

use std::sync::{Arc, Mutex, PoisonError};

/// The first fault of a connection. Clones mean the same connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fault(Arc<Mutex<Option<String>>>);

impl Fault {
    pub(crate) fn set(&self, reason: impl Into<String>) {
        let mut fault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if fault.is_none() {
            *fault = Some(reason.into());
        }
    }

    pub(crate) fn get(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
