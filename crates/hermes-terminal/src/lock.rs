//! Taking a lock whatever became of whoever held it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock. A thread that panicked while it held one left the value whole: every change in
/// this crate is one assignment, one insertion or one merge.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
