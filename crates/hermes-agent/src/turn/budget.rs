//! The request budget of a turn.

/// The requests of a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    cap: u32,
    used: u32,
}

impl Budget {
    pub(super) fn of(cap: u32) -> Self {
        Self { cap, used: 0 }
    }

    /// Takes one request from the budget; `false` if it is used up.
    pub(super) fn take(&mut self) -> bool {
        let is_left = self.used < self.cap;
        self.used += u32::from(is_left);
        is_left
    }

    /// Returns the last request: it does not count.
    pub(super) fn refund(&mut self) {
        self.used = self.used.saturating_sub(1);
    }

    /// The cap.
    pub(super) fn cap(self) -> u32 {
        self.cap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refunded_request_can_be_taken_again() {
        let mut budget = Budget::of(1);
        assert!(budget.take());
        assert!(!budget.take());
        budget.refund();
        assert!(budget.take());
        assert!(!budget.take());
    }
}
