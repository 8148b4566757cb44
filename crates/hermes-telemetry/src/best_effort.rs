//! Work that may fail without anybody having to stop: tried, logged, counted, never silent.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

static FAILURES: AtomicU64 = AtomicU64::new(0);

/// Tries `action`; a failure or panic becomes a warning that says what was attempted.
///
/// `what` completes "could not …": `best_effort("remove the old slot", || …)`.
pub fn best_effort<T, E: Display>(what: &str, action: impl FnOnce() -> Result<T, E>) -> Option<T> {
    // The closure is gone after a panic, and with it whatever it left half done.
    let reason = match catch_unwind(AssertUnwindSafe(action)) {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => format!("it panicked: {}", panic_text(panic.as_ref())),
    };
    FAILURES.fetch_add(1, Ordering::Relaxed);
    tracing::warn!("could not {what}: {reason}");
    None
}

/// How often [`best_effort`] failed in this process.
pub fn best_effort_failures() -> u64 {
    FAILURES.load(Ordering::Relaxed)
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
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
