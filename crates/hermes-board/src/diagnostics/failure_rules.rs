//! Rules about failed attempts. Running and finished cards are exempt.

use hermes_text::{cut, first_line};
use serde_json::json;

use crate::diagnostics::{Action, Case, Diagnostic, DiagnosticKind, Severity};
use crate::model::{Outcome, Status, object};

/// Longest error in a detail.
const ERROR_LENGTH: usize = 500;
/// Longest error in a title.
const TITLE_ERROR: usize = 160;

pub(super) fn repeated_failures(case: &Case<'_>) -> Option<Diagnostic> {
    if is_exempt(case) {
        return None;
    }
    let threshold = case.thresholds.failure_threshold.max(1);
    let failures = case.task.consecutive_failures;
    if failures < threshold {
        return None;
    }
    let last = case.runs.iter().rev().find_map(|run| {
        run.ended_how().filter(|outcome| {
            matches!(
                outcome,
                Outcome::SpawnFailed | Outcome::TimedOut | Outcome::Crashed | Outcome::CheckFailed
            )
        })
    });
    let what = match last {
        Some(Outcome::SpawnFailed) => "start",
        Some(Outcome::TimedOut) => "timeout",
        Some(Outcome::Crashed) => "crash",
        Some(Outcome::CheckFailed) => "check",
        _ => "failure",
    };
    let error = case.task.last_failure_error.as_deref().unwrap_or_default();
    let title = match first_line(error, TITLE_ERROR) {
        Some(line) => format!("{failures} failures in a row ({what}): {line}"),
        None => format!("{failures} failures in a row ({what}), no error recorded"),
    };
    let mut actions = Vec::new();
    match (last, case.task.assignee.as_deref()) {
        (Some(Outcome::SpawnFailed), Some(assignee)) if assignee != "default" => {
            let command = format!("hermes -p {assignee} doctor");
            actions.push(Action::command("Check the profile", command).suggested());
        }
        (Some(_), _) => actions.push(log_action(case)),
        (None, _) => {}
    }
    actions.extend(Action::generic(case));
    let limit = case.thresholds.failure_limit;
    let data = object(json!({
        "consecutive_failures": failures,
        "most_recent_outcome": last,
        "last_error": case.task.last_failure_error,
        "failure_threshold": threshold,
        "failure_limit": limit,
    }));
    Some(Diagnostic {
        title,
        detail: format!(
            "A card is blocked after {limit} failures in a row. Remove the cause, then unblock or \
             reclaim the card.\n\n{}",
            cut(error.trim(), ERROR_LENGTH)
        )
        .trim_end()
        .to_owned(),
        actions,
        count: failures,
        data,
        ..case.diagnostic(
            DiagnosticKind::RepeatedFailures,
            twice_is_critical(failures, threshold),
        )
    })
}

/// Crashes below the threshold of the rule about all failures.
pub(super) fn repeated_crashes(case: &Case<'_>) -> Option<Diagnostic> {
    let is_covered = case.task.consecutive_failures >= case.thresholds.failure_threshold.max(1);
    if is_exempt(case) || is_covered {
        return None;
    }
    let mut crashes = Vec::new();
    for run in case.runs.iter().rev() {
        match run.ended_how() {
            Some(Outcome::Crashed) => crashes.push(run),
            Some(Outcome::Completed | Outcome::Reclaimed) => break,
            _ => {}
        }
    }
    let threshold = case.thresholds.crash_threshold.max(1);
    let count = i64::try_from(crashes.len()).unwrap_or(i64::MAX);
    let (last, first) = (crashes.first()?, crashes.last()?);
    if count < threshold {
        return None;
    }
    let error = last.error.as_deref().unwrap_or_default();
    let mut actions = vec![log_action(case)];
    actions.extend(Action::generic(case));
    let data = object(json!({
        "consecutive_crashes": count,
        "last_error": last.error,
    }));
    Some(Diagnostic {
        title: match first_line(error, TITLE_ERROR) {
            Some(line) => format!("{count} workers exited without completing it: {line}"),
            None => format!("{count} workers exited without completing it"),
        },
        detail: "Workers exit before the card is completed. Their log says how far they got."
            .to_owned(),
        actions,
        first_seen_at: first.ended_at.unwrap_or(case.now),
        last_seen_at: last.ended_at.unwrap_or(case.now),
        count,
        run_id: Some(last.id),
        data,
        ..case.diagnostic(
            DiagnosticKind::RepeatedCrashes,
            twice_is_critical(count, threshold),
        )
    })
}

fn is_exempt(case: &Case<'_>) -> bool {
    matches!(
        case.task.status(),
        Status::Done | Status::Archived | Status::Running
    )
}

fn twice_is_critical(count: i64, threshold: i64) -> Severity {
    if count >= threshold.saturating_mul(2) {
        Severity::Critical
    } else {
        Severity::Error
    }
}

fn log_action(case: &Case<'_>) -> Action {
    let command = format!("hermes kanban log {}", case.task.id);
    Action::command("Read the log", command).suggested()
}
