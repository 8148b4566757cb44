//! Time and chance, replaceable in tests.

use std::hash::{BuildHasher, RandomState};

/// Tells the time and rolls the dice.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Seconds since 1970, UTC, with their fraction.
    fn now(&self) -> f64;
    /// Local time as `YYYYMMDD_HHMMSS`, for ids.
    fn stamp(&self) -> String;
    /// Any number; two calls differ.
    fn chance(&self) -> u64;
}

/// The machine's clock and the randomness the standard library seeds its maps with: ids need to
/// differ, not to be unguessable.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> f64 {
        jiff::Timestamp::now().as_duration().as_secs_f64()
    }

    fn stamp(&self) -> String {
        hermes_time::now().strftime("%Y%m%d_%H%M%S").to_string()
    }

    fn chance(&self) -> u64 {
        RandomState::new().hash_one(std::process::id())
    }
}
