//! How much may arrive from providers in one turn, over all attempts and routes.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of one turn. The longest honest ones, some hundred thousand tokens in small events, are a
/// fraction of it.
const MAX_TURN: u64 = 256 << 20;

/// What is left of a turn's bytes.
#[derive(Debug)]
pub(crate) struct ByteBudget {
    left: AtomicU64,
}

impl Default for ByteBudget {
    fn default() -> Self {
        Self {
            left: AtomicU64::new(MAX_TURN),
        }
    }
}

impl ByteBudget {
    /// A new turn begins.
    pub(crate) fn reset(&self) {
        self.left.store(MAX_TURN, Ordering::Relaxed);
    }

    /// Counts bytes that arrived; the error is a sentence.
    pub(crate) fn spend(&self, bytes: usize) -> Result<(), String> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let spent = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            });
        match spent {
            Ok(_) => Ok(()),
            Err(_) => {
                self.left.store(0, Ordering::Relaxed);
                Err(format!(
                    "more than {} MiB arrived in this turn, all attempts together",
                    MAX_TURN >> 20
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_ends_and_begins_anew_with_a_turn() {
        let budget = ByteBudget::default();
        let half = usize::try_from(MAX_TURN / 2).unwrap();
        assert!(budget.spend(half).is_ok() && budget.spend(half).is_ok());
        assert!(budget.spend(1).unwrap_err().contains("256 MiB"));
        assert!(budget.spend(0).is_ok());
        budget.reset();
        assert!(budget.spend(half).is_ok());
        assert!(budget.spend(half + 1).is_err() && budget.spend(1).is_err());
    }
}
