//! Time and names of new cards, replaceable in tests and simulations.

use std::hash::{BuildHasher, RandomState};

use crate::id::TaskId;

/// Tells the time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Seconds since 1970, UTC.
    fn now(&self) -> i64;

    /// Whether it is the clock of this machine, which counts for nothing on a board that several
    /// machines share: there it is the clock of the server.
    fn is_of_machine(&self) -> bool {
        false
    }
}

/// Names new cards.
pub trait IdSource: Send + Sync + std::fmt::Debug {
    /// A name that is most likely new; a clash is noticed and another one asked for.
    fn next_task(&self) -> TaskId;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        jiff::Timestamp::now().as_second()
    }

    fn is_of_machine(&self) -> bool {
        true
    }
}

/// Names from the randomness the standard library seeds its maps with. They need to differ, not to
/// be unguessable.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn next_task(&self) -> TaskId {
        let mixed = RandomState::new().hash_one(std::process::id());
        // Any half of it will do.
        TaskId::from_bits(u32::try_from(mixed >> 32).unwrap_or_default())
    }
}
