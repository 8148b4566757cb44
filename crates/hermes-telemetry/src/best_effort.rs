//! Work whose failure must not stop the caller: it is logged.

use std::fmt::Display;

use crate::contained::contained;

/// Tries `action`; a failure or panic becomes a warning that says what was attempted.
///
/// `what` completes "could not …": `best_effort("remove the old slot", || …)`.
pub fn best_effort<T, E: Display>(what: &str, action: impl FnOnce() -> Result<T, E>) -> Option<T> {
    let reason = match contained(action) {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => format!("it panicked: {panic}"),
    };
    tracing::warn!("could not {what}: {reason}");
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_passes_through_and_failure_and_panic_end_in_none() {
        assert_eq!(best_effort("add", || Ok::<_, String>(2)), Some(2));
        assert_eq!(best_effort("add", || Err::<(), _>("no")), None);
        assert_eq!(
            best_effort("add", || -> Result<(), String> { panic!("on purpose") }),
            None
        );
    }
}
