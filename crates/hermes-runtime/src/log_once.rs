//! Warnings that a process which reads its settings over and over logs once.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// More sentences than this are no longer about settings.
const MOST: usize = 1000;

static LOGGED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Logs the sentences that this process has not logged before.
pub(crate) fn warn_once(sentences: &[String]) {
    let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
    for sentence in sentences {
        if logged.len() < MOST && logged.insert(sentence.clone()) {
            tracing::warn!("{sentence}");
        }
    }
}
