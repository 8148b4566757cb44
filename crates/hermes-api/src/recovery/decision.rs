//! Whether an interrupted run goes on.

use hermes_config::Config;

use crate::ledger::Interrupted;
use crate::turn::Progress;

/// A run that was cut off this often does not go on: it may be what ends the gateway.
const MOST_RESTARTS: i64 = 3;

/// What limits the taking up of runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limits {
    /// Seconds after which an interrupted run is too old; `None` for never.
    pub(super) freshness: Option<i64>,
    /// Starts with interrupted runs, within the window, after which none goes on; 0 for no limit.
    pub(super) max_restarts: i64,
    pub(super) window_seconds: i64,
}

impl Limits {
    pub(super) fn of(config: &Config) -> Self {
        let number = |key: &str| config.int(key).unwrap_or_default();
        let freshness = number("agent.gateway_auto_continue_freshness");
        Self {
            freshness: (freshness > 0).then_some(freshness),
            max_restarts: number("gateway.restart_loop_guard.max_restarts"),
            window_seconds: number("gateway.restart_loop_guard.window_seconds"),
        }
    }
}

/// What becomes of an interrupted run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nothing of it was done: it begins.
    Begin,
    /// The model has answered already: only the telling is left.
    Tell,
    /// It goes on where it was.
    Resume,
    /// It ends, for this reason.
    Report(String),
}

/// What becomes of a run that had come so far. What can be brought to its end without asking the model
/// for the same thing again always is.
pub(super) fn decide(
    turn: &Interrupted,
    progress: &Progress,
    limits: &Limits,
    is_looping: bool,
    now: f64,
) -> Decision {
    if matches!(progress, Progress::Answered(_)) {
        return Decision::Tell;
    }
    #[expect(clippy::cast_precision_loss, reason = "seconds of a setting")]
    let is_stale = limits
        .freshness
        .is_some_and(|most| now - turn.updated_at > most as f64);
    if is_stale {
        return Decision::Report(format!(
            "the gateway was stopped during this run and started again only after more than {} s \
             (agent.gateway_auto_continue_freshness)",
            limits.freshness.unwrap_or_default()
        ));
    }
    if *progress == Progress::NotBegun {
        return Decision::Begin;
    }
    if turn.restarts + 1 >= MOST_RESTARTS {
        return Decision::Report(format!(
            "the gateway was stopped {MOST_RESTARTS} times during this run; it is not tried again"
        ));
    }
    if is_looping {
        return Decision::Report(format!(
            "the gateway was restarted {} times within {} s; interrupted runs do not go on then \
             (gateway.restart_loop_guard)",
            limits.max_restarts, limits.window_seconds
        ));
    }
    Decision::Resume
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
