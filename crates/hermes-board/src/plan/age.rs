//! How long ago something was, on clocks that are set forward and back.

/// By how much the clocks of machines that share a board may differ.
const TOLERANCE: i64 = 300;

/// Seconds since `then`. A time just ahead counts as now; one further ahead was read from a clock
/// that has been set back since: `None`.
pub(super) fn since(now: i64, then: i64) -> Option<i64> {
    let age = now.saturating_sub(then);
    (age >= -TOLERANCE).then_some(age.max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_future_says_nothing() {
        assert_eq!(since(1_000, 400), Some(600));
        assert_eq!(since(1_000, 1_300), Some(0));
        assert_eq!(since(1_000, 1_301), None);
        assert_eq!(since(i64::MIN, i64::MAX), None);
        assert_eq!(since(i64::MAX, i64::MIN), Some(i64::MAX));
    }
}
