//! Failures: they are counted, and a card that fails too often is blocked.

use hermes_text::cut;
use serde_json::json;

use crate::Result;
use crate::model::{Object, Outcome, RunId, TaskId, Termination, WorkerExit, object};
use crate::sqlite::cells::Cells;
use crate::sqlite::runs::Ending;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::Transaction;
use crate::store::{AttemptEnd, ClaimSeen, FailurePolicy, Release};

/// Longest error kept with a card.
const ERROR_LENGTH: usize = 500;
/// Attempts considered for the streak of protocol violations.
pub(super) const STREAK_LOOK: i64 = 50;

/// A failure to be counted against a card that is released already.
struct Failure<'a> {
    error: &'a str,
    outcome: Outcome,
    /// Added to `gave_up`.
    extra: Object,
    /// Protocol violations decide instead of the failure counter.
    violations: Option<Violations>,
}

#[derive(Clone, Copy)]
struct Violations {
    streak: i64,
    limit: i64,
}

/// The failure counter after one more failure.
struct Count {
    failures: i64,
    limit: i64,
    source: &'static str,
    trips: bool,
    /// What is written to the row: a breaker that trips early must still hold when others compare
    /// the counter with the limit.
    stored: i64,
}

impl Transaction<'_> {
    pub(super) fn record_spawn_failure(
        &self,
        id: &TaskId,
        run: RunId,
        error: &str,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        if !self.is_running_as(id, run)? {
            return Ok(Release::LostRace);
        }
        self.fail_attempt(id, run, Outcome::SpawnFailed, error, Object::new(), policy)
    }

    pub(super) fn record_budget_exhausted(
        &self,
        id: &TaskId,
        run: RunId,
        used: i64,
        most: i64,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        if !self.is_running_as(id, run)? {
            return Ok(Release::LostRace);
        }
        let error = format!("the worker used up its turns ({used} of {most})");
        let extra = object(json!({"budget_used": used, "budget_max": most}));
        self.fail_attempt(id, run, Outcome::TimedOut, &error, extra, policy)
    }

    pub(super) fn end_attempt(
        &self,
        id: &TaskId,
        seen: &ClaimSeen,
        end: &AttemptEnd,
        termination: Termination,
    ) -> Result<Release> {
        let last_heartbeat_at = self.last_heartbeat(id)?;
        if !self.release_if_unchanged(id, seen)? {
            return Ok(Release::LostRace);
        }
        match end {
            AttemptEnd::Expired { heartbeat_stale } => {
                let stale = *heartbeat_stale;
                self.close_expired(id, seen, stale, last_heartbeat_at, termination)?;
            }
            AttemptEnd::Silent(silence) => self.close_silent(id, seen, silence, termination)?,
            AttemptEnd::Exited { exit, policy } => {
                return self.record_exit(id, seen, *exit, policy);
            }
            AttemptEnd::TimedOut {
                elapsed_seconds,
                limit_seconds,
                policy,
            } => {
                let (elapsed, limit) = (*elapsed_seconds, *limit_seconds);
                return self.record_timeout(id, seen, elapsed, limit, termination, policy);
            }
        }
        let (failures, _) = self.failures(id)?;
        Ok(Release::Requeued { failures })
    }

    fn record_timeout(
        &self,
        id: &TaskId,
        seen: &ClaimSeen,
        elapsed_seconds: i64,
        limit_seconds: i64,
        termination: Termination,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        let error = format!("elapsed {elapsed_seconds} s > limit {limit_seconds} s");
        let pid = seen
            .pid
            .or(termination.prev_pid.map(i64::from))
            .unwrap_or(0);
        let sigkill = termination.sigkill;
        let payload = object(json!({
            "pid": pid,
            "elapsed_seconds": elapsed_seconds,
            "limit_seconds": limit_seconds,
            "sigkill": sigkill,
        }));
        let ending = Ending::failed(Outcome::TimedOut, &error, &payload);
        let run = self.close_run(id, seen.run, &ending)?;
        self.append(id, run, "timed_out", payload.into())?;
        let failure = Failure {
            error: &error,
            outcome: Outcome::TimedOut,
            extra: object(json!({"pid": pid, "sigkill": sigkill})),
            violations: None,
        };
        self.count_failure(id, run, &failure, policy)
    }

    fn record_exit(
        &self,
        id: &TaskId,
        seen: &ClaimSeen,
        exit: WorkerExit,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        let (kind, outcome, payload) = exit_particulars(exit, seen);
        let error = exit.describe(seen.pid);
        let ending = Ending::failed(outcome, &error, &payload);
        let run = self.close_run(id, seen.run, &ending)?;
        self.append(id, run, kind, payload.clone().into())?;
        let mut extra = object(json!({"pid": seen.pid, "claimer": seen.lock}));
        let (failures, own_limit) = self.failures(id)?;
        let violations = match exit {
            WorkerExit::Code(WorkerExit::QUOTA_WALL) => {
                self.note_error(id, &error)?;
                return Ok(Release::Requeued { failures });
            }
            WorkerExit::Code(0) => {
                let streak = self.violation_streak(id)?;
                let limit = own_limit.unwrap_or(FailurePolicy::VIOLATION_LIMIT);
                if streak < limit {
                    // Most such cards are completed by the next worker, so these attempts
                    // have a limit of their own.
                    self.note_error(id, &error)?;
                    return Ok(Release::Requeued { failures });
                }
                extra.insert("protocol_violations".to_owned(), json!(streak));
                extra.insert("protocol_violation_limit".to_owned(), json!(limit));
                Some(Violations { streak, limit })
            }
            WorkerExit::Code(_) | WorkerExit::Signal(_) | WorkerExit::Unknown => None,
        };
        let failure = Failure {
            error: &error,
            outcome,
            extra,
            violations,
        };
        self.count_failure(id, run, &failure, policy)
    }

    pub(super) fn is_running_as(&self, id: &TaskId, run: RunId) -> Result<bool> {
        self.holds(
            "SELECT EXISTS (SELECT 1 FROM tasks
             WHERE id = ?1 AND status = 'running' AND current_run_id = ?2)",
            params![id.as_str(), run.0],
        )
    }

    /// Ends a failed attempt, counts it, and releases or blocks the card.
    pub(super) fn fail_attempt(
        &self,
        id: &TaskId,
        run: RunId,
        outcome: Outcome,
        error: &str,
        extra: Object,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        let error = cut(error, ERROR_LENGTH);
        let count = self.count(id, policy, None)?;
        self.execute(
            "UPDATE tasks SET status = ?2, claim_lock = NULL, claim_expires = NULL,
                 worker_pid = NULL, consecutive_failures = ?3, last_failure_error = ?4
             WHERE id = ?1",
            params![
                id.as_str(),
                if count.trips { "blocked" } else { "ready" },
                count.stored,
                error
            ],
        )?;
        let payload = count.gave_up_payload(error, outcome, extra);
        // A failed check keeps its outcome also when it blocks the card.
        let ends_as = match outcome {
            Outcome::CheckFailed => Outcome::CheckFailed,
            _ if count.trips => Outcome::GaveUp,
            other => other,
        };
        let metadata = object(if count.trips {
            json!({
                "failures": count.failures,
                "trigger_outcome": outcome,
                "effective_limit": count.limit,
                "limit_source": count.source,
            })
        } else {
            json!({"failures": count.failures})
        });
        let ending = Ending::failed(ends_as, error, &metadata);
        let run = self.close_run(id, Some(run), &ending)?;
        if count.trips {
            self.append(id, run, "gave_up", payload.into())?;
        } else if outcome != Outcome::CheckFailed {
            self.append(
                id,
                run,
                outcome.as_str(),
                json!({"error": error, "failures": count.failures}),
            )?;
        }
        Ok(count.release())
    }

    /// Counts a failure of an attempt that is closed, on a card that is ready again.
    fn count_failure(
        &self,
        id: &TaskId,
        run: Option<RunId>,
        failure: &Failure<'_>,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        let error = cut(failure.error, ERROR_LENGTH);
        let count = self.count(id, policy, failure.violations)?;
        self.execute(
            "UPDATE tasks SET status = CASE WHEN ?2 THEN 'blocked' ELSE status END,
                 consecutive_failures = ?3, last_failure_error = ?4
             WHERE id = ?1",
            params![id.as_str(), count.trips, count.stored, error],
        )?;
        if count.trips {
            let payload = count.gave_up_payload(error, failure.outcome, failure.extra.clone());
            self.append(id, run, "gave_up", payload.into())?;
        }
        Ok(count.release())
    }

    fn count(
        &self,
        id: &TaskId,
        policy: &FailurePolicy,
        violations: Option<Violations>,
    ) -> Result<Count> {
        let (failures, own) = self.failures(id)?;
        let failures = failures + 1;
        let holds_at = own.unwrap_or(policy.limit);
        let (limit, source) = match (own, violations) {
            (Some(own), _) => (own, "task"),
            (None, Some(violations)) => (violations.limit, "dispatcher"),
            (None, None) if policy.systemic => (1, "dispatcher"),
            (None, None) => (policy.limit, "dispatcher"),
        };
        let trips = match violations {
            Some(violations) => violations.streak >= violations.limit,
            None => failures >= limit,
        };
        Ok(Count {
            failures,
            limit,
            source,
            trips,
            stored: if trips {
                failures.max(holds_at)
            } else {
                failures
            },
        })
    }

    /// Failures in a row, and the card's own limit.
    fn failures(&self, id: &TaskId) -> Result<(i64, Option<i64>)> {
        let found = self.one(
            "SELECT consecutive_failures, max_retries FROM tasks WHERE id = ?1",
            [id.as_str()],
            |row| {
                let mut cells = Cells::new(row);
                Ok((cells.int()?, cells.int_or_none()?))
            },
        )?;
        Ok(found.unwrap_or_default())
    }

    fn note_error(&self, id: &TaskId, error: &str) -> Result<()> {
        self.execute(
            "UPDATE tasks SET last_failure_error = ?2 WHERE id = ?1",
            params![id.as_str(), cut(error, ERROR_LENGTH)],
        )?;
        Ok(())
    }

    /// Protocol violations in a row, newest first. Used-up quotas say nothing about a card and are
    /// skipped; anything else ends the row.
    fn violation_streak(&self, id: &TaskId) -> Result<i64> {
        let attempts = self.all(
            "SELECT outcome, error, metadata FROM task_runs
             WHERE task_id = ?1 AND ended_at IS NOT NULL ORDER BY +id DESC LIMIT ?2",
            params![id.as_str(), STREAK_LOOK],
            |row| {
                let mut cells = Cells::new(row);
                Ok((cells.text()?, cells.text()?, cells.object()?))
            },
        )?;
        Ok(streak_of(attempts.iter().map(
            |(outcome, error, metadata)| (outcome.as_str(), error.as_str(), metadata.as_ref()),
        )))
    }
}

/// Counts from the newest attempt: outcome, error, metadata of each.
pub(super) fn streak_of<'a>(
    attempts: impl Iterator<Item = (&'a str, &'a str, Option<&'a Object>)>,
) -> i64 {
    let mut streak = 0;
    for (outcome, error, metadata) in attempts {
        match Outcome::parse(outcome) {
            Some(Outcome::RateLimited) => {}
            Some(Outcome::Crashed) if is_violation(error, metadata) => streak += 1,
            _ => break,
        }
    }
    streak
}

fn is_violation(error: &str, metadata: Option<&Object>) -> bool {
    let marked = metadata
        .and_then(|metadata| metadata.get("protocol_violation"))
        .and_then(serde_json::Value::as_bool);
    // Older attempts have it in the text of the error.
    marked.unwrap_or_else(|| error.contains("protocol violation"))
}

impl Count {
    fn gave_up_payload(&self, error: &str, outcome: Outcome, extra: Object) -> Object {
        let mut payload = object(json!({
            "failures": self.failures,
            "effective_limit": self.limit,
            "limit_source": self.source,
            "error": error,
            "trigger_outcome": outcome,
        }));
        payload.extend(extra);
        payload
    }

    fn release(&self) -> Release {
        if self.trips {
            Release::Blocked {
                failures: self.failures,
                limit: self.limit,
            }
        } else {
            Release::Requeued {
                failures: self.failures,
            }
        }
    }
}

fn exit_particulars(exit: WorkerExit, seen: &ClaimSeen) -> (&'static str, Outcome, Object) {
    let mut payload = object(json!({"pid": seen.pid, "claimer": seen.lock}));
    let mut put = |key: &str, value: serde_json::Value| {
        payload.insert(key.to_owned(), value);
    };
    let (kind, outcome) = match exit {
        WorkerExit::Code(0) => {
            put("exit_code", json!(0));
            put("protocol_violation", json!(true));
            ("protocol_violation", Outcome::Crashed)
        }
        WorkerExit::Code(WorkerExit::QUOTA_WALL) => {
            put("exit_code", json!(WorkerExit::QUOTA_WALL));
            ("rate_limited", Outcome::RateLimited)
        }
        WorkerExit::Code(code) => {
            put("exit_kind", json!("nonzero_exit"));
            put("exit_code", json!(code));
            ("crashed", Outcome::Crashed)
        }
        WorkerExit::Signal(signal) => {
            put("exit_kind", json!("signaled"));
            put("exit_code", json!(signal));
            ("crashed", Outcome::Crashed)
        }
        WorkerExit::Unknown => ("crashed", Outcome::Crashed),
    };
    (kind, outcome, payload)
}
