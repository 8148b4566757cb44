//! The choice of the next key.

use std::hash::{BuildHasher, RandomState};

/// The order in which the keys of a provider are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Strategy {
    /// The first, until it is exhausted.
    #[default]
    FillFirst,
    RoundRobin,
    Random,
    LeastUsed,
}

/// A usable key.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyCandidate {
    pub(super) at: usize,
    pub(super) leases: usize,
    pub(super) uses: u64,
}

impl Strategy {
    /// Parses a value of `credential_pool_strategies`; anything unknown is the default.
    pub(crate) fn parse(name: &str) -> Self {
        match name.trim() {
            "round_robin" => Self::RoundRobin,
            "random" => Self::Random,
            "least_used" => Self::LeastUsed,
            _ => Self::FillFirst,
        }
    }

    /// The next key. Keys with the fewest running requests come first, whatever the strategy.
    pub(super) fn choose(self, candidates: &[KeyCandidate], last: Option<usize>) -> Option<usize> {
        let fewest = candidates.iter().map(|one| one.leases).min()?;
        let mut free = candidates.iter().filter(|one| one.leases == fewest);
        let chosen = match self {
            Self::FillFirst => free.next(),
            Self::RoundRobin => {
                let after = |one: &&KeyCandidate| last.is_none_or(|last| one.at > last);
                free.clone().find(after).or_else(|| free.next())
            }
            Self::LeastUsed => free.min_by_key(|one| (one.uses, one.at)),
            Self::Random => {
                let free: Vec<&KeyCandidate> = free.collect();
                let count = u64::try_from(free.len()).unwrap_or(1).max(1);
                let drawn = RandomState::new().hash_one(last) % count;
                free.get(usize::try_from(drawn).unwrap_or(0)).copied()
            }
        };
        chosen.map(|one| one.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(leases: [usize; 3], uses: [u64; 3]) -> Vec<KeyCandidate> {
        (0..3)
            .map(|at| KeyCandidate {
                at,
                leases: leases[at],
                uses: uses[at],
            })
            .collect()
    }

    #[test]
    fn each_strategy_has_its_order() {
        let idle = pool([0; 3], [5, 1, 2]);
        assert_eq!(Strategy::FillFirst.choose(&idle, Some(1)), Some(0));
        assert_eq!(Strategy::RoundRobin.choose(&idle, Some(1)), Some(2));
        assert_eq!(Strategy::RoundRobin.choose(&idle, Some(2)), Some(0));
        assert_eq!(Strategy::LeastUsed.choose(&idle, None), Some(1));
        assert!(Strategy::Random.choose(&idle, None).is_some());
        let busy = pool([1, 1, 0], [0; 3]);
        assert_eq!(Strategy::FillFirst.choose(&busy, None), Some(2));
        assert_eq!(Strategy::FillFirst.choose(&[], None), None);
    }
}
