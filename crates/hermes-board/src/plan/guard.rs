//! The respawn guard: reasons to hold a ready card back for a while. Each of them expires, so that no
//! card is held back for ever.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::Outcome;
use crate::model::text_enum::text_enum;
use crate::plan::Limits;
use crate::plan::age::since;
use crate::store::GuardFacts;

/// How long a success holds a card back.
const SUCCESS_SECONDS: i64 = 3600;
/// How long a pull request holds a card back.
const PULL_REQUEST_SECONDS: i64 = 24 * 3600;
/// Delay after the first failure that only a person or time can fix; doubles with each failure.
const BLOCKER_SECONDS: i64 = 300;
/// Longest such delay.
const BLOCKER_SECONDS_MOST: i64 = 3600;

text_enum! {
    /// Why a ready card is held back.
    GuardReason {
        /// The last worker reached the quota of its provider.
        RateLimitCooldown = "rate_limit_cooldown",
        /// The last failure was about quota or permission.
        BlockerAuth = "blocker_auth",
        /// The card was completed recently and nobody asked for it again.
        RecentSuccess = "recent_success",
        /// A comment names a pull request.
        ActivePr = "active_pr",
        PreviousWorkerAlive = "previous_worker_alive",
    }
}

/// A reason, and when it expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub reason: GuardReason,
    pub until: i64,
}

/// The first reason that holds a card back now.
pub(super) fn held(
    facts: &GuardFacts,
    consecutive_failures: i64,
    limits: &Limits,
    now: i64,
) -> Option<Held> {
    let lasting = |reason, from: Option<i64>, seconds: i64| {
        let from = from?;
        (since(now, from)? < seconds).then(|| Held {
            reason,
            until: from.saturating_add(seconds),
        })
    };
    if let Some(last) = facts.last_run
        && last.outcome == Some(Outcome::RateLimited)
    {
        // No other reason applies: the error of a quota also reads like a lack of permission.
        return lasting(
            GuardReason::RateLimitCooldown,
            Some(last.ended_at),
            limits.rate_limit_cooldown_seconds,
        );
    }
    let ended_at = facts.last_run.map(|last| last.ended_at);
    let blocked_by_others = facts
        .last_failure_error
        .as_deref()
        .is_some_and(is_about_permission);
    if blocked_by_others
        && let Some(held) = lasting(
            GuardReason::BlockerAuth,
            ended_at,
            blocker_seconds(consecutive_failures),
        )
    {
        return Some(held);
    }
    let asked_again = facts.requeued_at >= facts.completed_at;
    if !asked_again
        && let Some(held) = lasting(
            GuardReason::RecentSuccess,
            facts.completed_at,
            SUCCESS_SECONDS,
        )
    {
        return Some(held);
    }
    lasting(
        GuardReason::ActivePr,
        facts.pull_request_at,
        PULL_REQUEST_SECONDS,
    )
}

fn blocker_seconds(consecutive_failures: i64) -> i64 {
    let doublings = u32::try_from(consecutive_failures.clamp(1, 16) - 1).unwrap_or(0);
    (BLOCKER_SECONDS << doublings).min(BLOCKER_SECONDS_MOST)
}

/// Whether a failure is about quota, money or permission, which an immediate retry cannot fix.
fn is_about_permission(error: &str) -> bool {
    static OURS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)\b(pid|elapsed|limit|code|signal) \d+\b").ok());
    static THEIRS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?xi) \b ( quota | rate [\s_-]? limit | 429 | 403 | auth\w* | unauthorized | forbidden
            | billing | subscription | access [\s_] denied | permission [\s_] denied
            | invalid [\s_] api [\s_] key ) \b",
        )
        .ok()
    });
    // A worker may have the process id 403, or run for 429 seconds.
    let text = match OURS.as_ref() {
        Some(ours) => ours.replace_all(error, ""),
        None => error.into(),
    };
    THEIRS.as_ref().is_some_and(|theirs| theirs.is_match(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::EndedRun;
    use pretty_assertions::assert_eq;

    const NOW: i64 = 1_000_000;

    fn ended(outcome: Outcome, seconds_ago: i64) -> EndedRun {
        EndedRun {
            outcome: Some(outcome),
            ended_at: NOW - seconds_ago,
        }
    }

    fn reason(facts: &GuardFacts, failures: i64) -> Option<&'static str> {
        held(facts, failures, &Limits::default(), NOW).map(|held| held.reason.as_str())
    }

    #[test]
    fn a_rate_limited_card_waits_for_the_cooldown() {
        let mut facts = GuardFacts {
            last_failure_error: Some("quota exceeded".to_owned()),
            last_run: Some(ended(Outcome::RateLimited, 299)),
            ..GuardFacts::default()
        };
        assert_eq!(
            held(&facts, 0, &Limits::default(), NOW),
            Some(Held {
                reason: GuardReason::RateLimitCooldown,
                until: NOW + 1
            })
        );
        facts.last_run = Some(ended(Outcome::RateLimited, 300));
        assert_eq!(reason(&facts, 0), None);
        facts.last_run = Some(ended(Outcome::RateLimited, 0));
        let at_once = Limits {
            rate_limit_cooldown_seconds: 0,
            ..Limits::default()
        };
        assert_eq!(held(&facts, 0, &at_once, NOW), None);
    }

    #[test]
    fn permission_failures_delay_longer_each_time_up_to_an_hour() {
        let deferred = |failures, seconds_ago| {
            let facts = GuardFacts {
                last_failure_error: Some("spawn: Permission denied (os error 13)".to_owned()),
                last_run: Some(ended(Outcome::SpawnFailed, seconds_ago)),
                ..GuardFacts::default()
            };
            reason(&facts, failures) == Some("blocker_auth")
        };
        for (failures, rest) in [
            (0, 300),
            (1, 300),
            (2, 600),
            (3, 1200),
            (5, 3600),
            (99, 3600),
        ] {
            assert!(deferred(failures, rest - 1), "{failures}");
            assert!(!deferred(failures, rest), "{failures}");
        }
    }

    #[test]
    fn a_completed_card_is_held_back_unless_requeued() {
        let mut facts = GuardFacts {
            last_run: Some(ended(Outcome::Completed, 100)),
            completed_at: Some(NOW - 100),
            ..GuardFacts::default()
        };
        assert_eq!(reason(&facts, 0), Some("recent_success"));
        facts.requeued_at = Some(NOW - 101);
        assert_eq!(reason(&facts, 0), Some("recent_success"));
        facts.requeued_at = Some(NOW - 100);
        assert_eq!(reason(&facts, 0), None);
        facts.requeued_at = None;
        facts.completed_at = Some(NOW - 3600);
        assert_eq!(reason(&facts, 0), None);
    }

    #[test]
    fn a_pull_request_holds_a_card_back_for_a_day() {
        let named = |seconds_ago| {
            let facts = GuardFacts {
                pull_request_at: Some(NOW - seconds_ago),
                ..GuardFacts::default()
            };
            reason(&facts, 0)
        };
        assert_eq!(named(86_399), Some("active_pr"));
        assert_eq!(named(86_400), None);
        assert_eq!(reason(&GuardFacts::default(), 0), None);
    }

    #[test]
    fn times_in_the_future_hold_nothing_back() {
        let facts = GuardFacts {
            last_failure_error: Some("forbidden".to_owned()),
            last_run: Some(ended(Outcome::SpawnFailed, -100_000)),
            completed_at: Some(NOW + 100_000),
            pull_request_at: Some(NOW + 100_000),
            ..GuardFacts::default()
        };
        assert_eq!(reason(&facts, 1), None);
    }

    #[test]
    fn only_errors_about_permission_delay() {
        for error in [
            "HTTP 429",
            "403: no",
            "Rate-Limit",
            "authentication failed",
            "UNAUTHORIZED",
            "invalid api key",
            "access_denied",
            "billing hard limit",
            "no subscription",
        ] {
            assert!(is_about_permission(error), "{error}");
        }
        for error in [
            "pid 403 not alive",
            "pid 429 exited with code 1",
            "elapsed 403 s > limit 429 s",
            "4290",
            "disk full",
            "coauthor",
        ] {
            assert!(!is_about_permission(error), "{error}");
        }
    }
}
