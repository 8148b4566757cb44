//! Why a connection was given up, where the transport knows better than the protocol.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;

/// The first fault of a connection. Clones mean the same connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fault(Arc<Mutex<Option<Error>>>);

impl Fault {
    /// The server breaks the protocol.
    pub(crate) fn set_protocol(&self, reason: &str) {
        self.set(Error::NotMcp(reason.to_owned()));
    }

    /// Only a person can get the next token.
    pub(crate) fn set_login(&self, reason: String) {
        self.set(Error::NeedsLogin { reason });
    }

    fn set(&self, error: Error) {
        let mut fault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert(error);
    }

    pub(crate) fn get(&self) -> Option<Error> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Why a person has to log in, if that is the fault.
    pub(crate) fn login(&self) -> Option<String> {
        match self.get()? {
            Error::NeedsLogin { reason } => Some(reason),
            _ => None,
        }
    }
}
