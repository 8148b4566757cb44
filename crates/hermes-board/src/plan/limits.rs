//! The numbers a dispatcher keeps to. [`crate::dispatch::DispatchSettings`] turns what is configured
//! into them, for every command and process alike.

use crate::model::Assignee;
use crate::store::FailurePolicy;

/// What a dispatcher keeps to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long a claim lasts without a sign of life.
    pub claim_ttl_seconds: i64,
    /// How young an attempt may be to have no process yet.
    pub crash_grace_seconds: i64,
    /// How long a card rests after its worker met a quota wall; 0 for not at all.
    pub rate_limit_cooldown_seconds: i64,
    /// How long an attempt may go without a sign of life; 0 for as long as it likes.
    pub stale_timeout_seconds: i64,
    /// Failures after which a card without a number of its own is blocked.
    pub failure_limit: i64,
    /// Most cards in progress (`max_spawn`).
    pub max_spawn: Option<usize>,
    /// Most cards in progress (`max_in_progress`).
    pub max_in_progress: Option<usize>,
    /// Most cards in progress for one profile.
    pub max_in_progress_per_profile: Option<usize>,
    /// Who gets cards that nobody was given.
    pub default_assignee: Option<Assignee>,
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
            default_assignee: None,
        }
    }
}

/// Which limit on cards in progress is the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cap {
    /// Its key in the configuration.
    pub name: &'static str,
    /// Most cards.
    pub limit: usize,
}

impl Limits {
    /// The lowest limit on cards in progress.
    pub fn lowest_cap(&self) -> Option<Cap> {
        let caps = [
            ("max_in_progress", self.max_in_progress),
            ("max_spawn", self.max_spawn),
        ];
        caps.into_iter()
            .filter_map(|(name, limit)| limit.map(|limit| Cap { name, limit }))
            .min_by_key(|cap| cap.limit)
    }
}

/// What `max_in_progress: auto` comes to: one for two GiB of memory, at least 2, at most 8.
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
        let lowest = |a, b| limits(a, b).lowest_cap().map(|cap| (cap.name, cap.limit));
        assert_eq!(lowest(Some(3), None), Some(("max_spawn", 3)));
        assert_eq!(lowest(Some(3), Some(2)), Some(("max_in_progress", 2)));
        assert_eq!(lowest(Some(2), Some(2)), Some(("max_in_progress", 2)));
    }
}
