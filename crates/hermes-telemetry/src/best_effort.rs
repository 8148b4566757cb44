//! Work whose failure must not stop the caller: it is logged and counted.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::contained::contained;

static FAILURES: AtomicU64 = AtomicU64::new(0);

/// Tries `action`; a failure or panic becomes a warning that says what was attempted.
///
/// `what` completes "could not …": `best_effort("remove the old slot", || …)`.
pub fn best_effort<T, E: Display>(what: &str, action: impl FnOnce() -> Result<T, E>) -> Option<T> {
    let reason = match contained(action) {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => format!("it panicked: {panic}"),
    };
    FAILURES.fetch_add(1, Ordering::Relaxed);
    tracing::warn!("could not {what}: {reason}");
    None
}

/// How often [`best_effort`] failed in this process.
pub fn best_effort_failures() -> u64 {
    FAILURES.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_passes_through_and_failure_and_panic_are_counted() {
        let before = best_effort_failures();
        assert_eq!(best_effort("add", || Ok::<_, String>(2)), Some(2));
        assert_eq!(best_effort_failures(), before);
        assert_eq!(best_effort("add", || Err::<(), _>("no")), None);
        assert_eq!(
            best_effort("add", || -> Result<(), String> { panic!("on purpose") }),
            None
        );
        assert_eq!(best_effort_failures(), before + 2);
    }
}
