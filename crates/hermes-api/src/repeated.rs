//! The requests with an `Idempotency-Key` that are being answered at this moment.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::http::ApiError;
use crate::ledger::KeptAnswer;

/// How a request was answered, once it was.
type Outcome = Option<Result<KeptAnswer, ApiError>>;
/// By key: the fingerprint of the request, and where its answer will be.
type OpenRequests = HashMap<String, ([u8; 32], watch::Receiver<Outcome>)>;

/// The requests with a key that are being answered.
#[derive(Default)]
pub(crate) struct RepeatedRequests {
    open: Mutex<OpenRequests>,
}

impl RepeatedRequests {
    /// All of them.
    pub(crate) fn open(&self) -> MutexGuard<'_, OpenRequests> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
