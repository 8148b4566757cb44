//! The numbers a dispatcher keeps to. One place turns what is configured into them, for every
//! command and process alike.

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

/// Limits as they were written down: by a flag, a variable or in the configuration.
#[derive(Debug, Clone, Copy, Default)]
pub struct RawLimits<'a> {
    /// `HERMES_KANBAN_CLAIM_TTL_SECONDS`.
    pub claim_ttl_seconds: Option<&'a str>,
    /// `HERMES_KANBAN_CRASH_GRACE_SECONDS`.
    pub crash_grace_seconds: Option<&'a str>,
    /// `HERMES_KANBAN_RATE_LIMIT_COOLDOWN_SECONDS`.
    pub rate_limit_cooldown_seconds: Option<&'a str>,
    /// `kanban.dispatch_stale_timeout_seconds`.
    pub stale_timeout_seconds: Option<&'a str>,
    /// `--failure-limit` or `kanban.failure_limit`.
    pub failure_limit: Option<&'a str>,
    /// `--max` or `kanban.max_spawn`.
    pub max_spawn: Option<&'a str>,
    /// `kanban.max_in_progress`.
    pub max_in_progress: Option<&'a str>,
    /// `kanban.max_in_progress_per_profile`.
    pub max_in_progress_per_profile: Option<&'a str>,
    /// `kanban.default_assignee`.
    pub default_assignee: Option<&'a str>,
    /// Memory of the machine, for `max_in_progress: auto`.
    pub memory_bytes: Option<u64>,
}

impl RawLimits<'_> {
    /// The limits, and a sentence for each value that could not be used.
    pub fn resolve(&self) -> (Limits, Vec<String>) {
        let usual = Limits::default();
        let mut complaints = Vec::new();
        let mut complain = |key: &str, raw: &str, instead: &str| {
            let shown = crate::shown(raw, 40);
            complaints.push(format!("{key}: '{shown}' is not usable, {instead}"));
        };
        let mut cap = |key: &str, raw: Option<&str>| {
            let raw = raw?;
            let cap = positive(raw);
            if cap.is_none() && !is_nothing(raw) {
                complain(key, raw, "so there is no such limit");
            }
            cap
        };
        let max_spawn = cap("kanban.max_spawn", self.max_spawn);
        let per_profile = cap(
            "kanban.max_in_progress_per_profile",
            self.max_in_progress_per_profile,
        );
        let max_in_progress = match (self.max_in_progress, self.memory_bytes) {
            (Some(raw), memory) if raw.trim().eq_ignore_ascii_case("auto") => {
                Some(automatic_in_progress(memory))
            }
            (raw, _) => cap("kanban.max_in_progress", raw),
        };
        let failure_limit = match self.failure_limit {
            Some(raw) => whole(raw).filter(|limit| *limit >= 1).unwrap_or_else(|| {
                complain("kanban.failure_limit", raw, "so 2 is in effect");
                usual.failure_limit
            }),
            None => usual.failure_limit,
        };
        let stale_timeout_seconds = match self.stale_timeout_seconds {
            Some(raw) => whole(raw).filter(|limit| *limit >= 0).unwrap_or_else(|| {
                let key = "kanban.dispatch_stale_timeout_seconds";
                complain(key, raw, "so silent workers are not looked for");
                0
            }),
            None => usual.stale_timeout_seconds,
        };
        let default_assignee = self
            .default_assignee
            .filter(|raw| !raw.trim().is_empty())
            .and_then(|raw| match Assignee::parse(raw) {
                Ok(assignee) => Some(assignee),
                Err(_) => {
                    let key = "kanban.default_assignee";
                    complain(key, raw, "so cards without an assignee stay so");
                    None
                }
            });
        // Variables that make no sense count as unset, without a word.
        let seconds = |raw: Option<&str>, least: i64, usual: i64| {
            let given = raw.and_then(whole).filter(|seconds| *seconds >= least);
            given.unwrap_or(usual)
        };
        let limits = Limits {
            claim_ttl_seconds: seconds(self.claim_ttl_seconds, 1, usual.claim_ttl_seconds),
            crash_grace_seconds: seconds(self.crash_grace_seconds, 0, usual.crash_grace_seconds),
            rate_limit_cooldown_seconds: seconds(
                self.rate_limit_cooldown_seconds,
                0,
                usual.rate_limit_cooldown_seconds,
            ),
            stale_timeout_seconds,
            failure_limit,
            max_spawn,
            max_in_progress,
            max_in_progress_per_profile: per_profile,
            default_assignee,
        };
        (limits, complaints)
    }
}

/// A cap: a whole number of at least one; anything else means none.
pub fn positive(raw: &str) -> Option<usize> {
    whole(raw)
        .filter(|value| *value >= 1)
        .and_then(|value| usize::try_from(value).ok())
}

/// What `max_in_progress: auto` comes to: one for two GiB of memory, at least 2, at most 8.
pub fn automatic_in_progress(memory_bytes: Option<u64>) -> usize {
    const GIB: u64 = 1 << 30;
    let fitting = memory_bytes.unwrap_or_default() / GIB / 2;
    usize::try_from(fitting.clamp(2, 8)).unwrap_or(2)
}

fn whole(raw: &str) -> Option<i64> {
    raw.trim().parse().ok()
}

fn is_nothing(raw: &str) -> bool {
    matches!(raw.trim(), "" | "null" | "~" | "none" | "None")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn caps_that_make_no_sense_are_no_caps() {
        for raw in ["0", "-1", "abc", "", "null", "1.5", "99999999999999999999"] {
            assert_eq!(positive(raw), None, "{raw:?}");
        }
        assert_eq!(positive(" 3 "), Some(3));
        let raw = RawLimits {
            max_spawn: Some("two"),
            max_in_progress: Some("0"),
            max_in_progress_per_profile: Some("null"),
            ..RawLimits::default()
        };
        let (limits, complaints) = raw.resolve();
        assert_eq!(limits, Limits::default());
        assert_eq!(
            complaints,
            [
                "kanban.max_spawn: 'two' is not usable, so there is no such limit",
                "kanban.max_in_progress: '0' is not usable, so there is no such limit",
            ]
        );
    }

    #[test]
    fn numbers_that_make_no_sense_have_stand_ins() {
        let raw = RawLimits {
            claim_ttl_seconds: Some("0"),
            crash_grace_seconds: Some("0"),
            rate_limit_cooldown_seconds: Some("x"),
            stale_timeout_seconds: Some("-5"),
            failure_limit: Some("0"),
            ..RawLimits::default()
        };
        let (limits, complaints) = raw.resolve();
        assert_eq!(limits.claim_ttl_seconds, 900);
        assert_eq!(limits.crash_grace_seconds, 0);
        assert_eq!(limits.rate_limit_cooldown_seconds, 300);
        assert_eq!(limits.stale_timeout_seconds, 0);
        assert_eq!(limits.failure_limit, 2);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
    }

    #[test]
    fn a_blank_default_assignee_is_none() {
        let resolve = |raw| {
            let raw = RawLimits {
                default_assignee: Some(raw),
                ..RawLimits::default()
            };
            raw.resolve()
        };
        assert_eq!(resolve("   ").0.default_assignee, None);
        assert!(resolve("  ").1.is_empty());
        let (limits, _) = resolve(" Alpha ");
        assert_eq!(limits.default_assignee.unwrap().as_str(), "alpha");
        let (limits, complaints) = resolve("../alpha");
        assert_eq!(limits.default_assignee, None);
        assert_eq!(complaints.len(), 1);
    }

    #[test]
    fn automatic_follows_the_memory() {
        let of = |gib: u64| automatic_in_progress(Some(gib << 30));
        assert_eq!((of(1), of(4), of(7), of(8), of(64)), (2, 2, 3, 4, 8));
        assert_eq!(automatic_in_progress(None), 2);
        let raw = RawLimits {
            max_in_progress: Some("AUTO"),
            memory_bytes: Some(10 << 30),
            ..RawLimits::default()
        };
        assert_eq!(raw.resolve().0.max_in_progress, Some(5));
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
