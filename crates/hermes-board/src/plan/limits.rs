//! The limits of a dispatcher. [`crate::KanbanSettings`] resolves them from the
//! configuration for every command and process.

use crate::model::Assignee;
use crate::store::{ClaimCaps, FailurePolicy};

/// The limits of a dispatcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long a claim lasts without a heartbeat.
    pub claim_ttl_seconds: i64,
    /// Age below which an attempt may have no process yet.
    pub crash_grace_seconds: i64,
    /// How long a card is held back after its worker reached a quota; 0 for not at all.
    pub rate_limit_cooldown_seconds: i64,
    /// How long an attempt may go without a heartbeat; 0 for no limit.
    pub stale_timeout_seconds: i64,
    /// Failures after which a card without a limit of its own is blocked.
    pub failure_limit: i64,
    pub max_spawn: Option<usize>,
    pub max_in_progress: Option<usize>,
    pub max_in_progress_per_profile: Option<usize>,
    /// The slots of this host.
    pub max_in_progress_per_host: Option<usize>,
    /// Which cards of a profile count for its limit.
    pub cap_scope: CapScope,
    pub default_assignee: Option<Assignee>,
}

/// Which cards of a profile count for its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CapScope {
    /// Those of the same board.
    #[default]
    Board,
    /// Those of all boards of a home.
    Home,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            claim_ttl_seconds: 900,
            crash_grace_seconds: 30,
            rate_limit_cooldown_seconds: 300,
            stale_timeout_seconds: 14_400,
            failure_limit: FailurePolicy::DEFAULT_LIMIT,
            max_spawn: None,
            max_in_progress: None,
            max_in_progress_per_profile: None,
            max_in_progress_per_host: None,
            cap_scope: CapScope::Board,
            default_assignee: None,
        }
    }
}

impl Limits {
    /// Whether cards of other boards count.
    pub(crate) fn counts_other_boards(&self) -> bool {
        self.cap_scope == CapScope::Home && self.max_in_progress_per_profile.is_some()
    }

    /// Whether it matters to a card how many others are in progress or come first.
    pub(crate) fn has_cap(&self) -> bool {
        self.lowest_cap().is_some()
            || self.max_in_progress_per_profile.is_some()
            || self.max_in_progress_per_host.is_some()
    }

    /// What a claim keeps to by itself.
    pub(crate) fn claim_caps(&self) -> ClaimCaps {
        ClaimCaps {
            for_all: self.lowest_cap(),
            per_profile: self.max_in_progress_per_profile,
            per_host: self.max_in_progress_per_host,
        }
    }

    /// The lowest limit on running cards, with its key in the configuration.
    pub(crate) fn lowest_cap(&self) -> Option<(&'static str, usize)> {
        let caps = [
            ("max_in_progress", self.max_in_progress),
            ("max_spawn", self.max_spawn),
        ];
        caps.into_iter()
            .filter_map(|(name, limit)| Some((name, limit?)))
            .min_by_key(|(_, limit)| *limit)
    }
}

/// The value of `max_in_progress: auto`: one per two GiB of memory, at least 2, at most 8.
pub fn automatic_in_progress(memory_bytes: Option<u64>) -> usize {
    const GIB: u64 = 1 << 30;
    let fitting = memory_bytes.unwrap_or_default() / GIB / 2;
    usize::try_from(fitting.clamp(2, 8)).unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn automatic_follows_the_memory() {
        let of = |gib: u64| automatic_in_progress(Some(gib << 30));
        assert_eq!((of(1), of(4), of(7), of(8), of(64)), (2, 2, 3, 4, 8));
        assert_eq!(automatic_in_progress(None), 2);
    }

    #[test]
    fn the_lowest_cap_wins() {
        let limits = |max_spawn, max_in_progress| Limits {
            max_spawn,
            max_in_progress,
            ..Limits::default()
        };
        assert_eq!(limits(None, None).lowest_cap(), None);
        let lowest = |a, b| limits(a, b).lowest_cap();
        assert_eq!(lowest(Some(3), None), Some(("max_spawn", 3)));
        assert_eq!(lowest(Some(3), Some(2)), Some(("max_in_progress", 2)));
        assert_eq!(lowest(Some(2), Some(2)), Some(("max_in_progress", 2)));
    }
}
