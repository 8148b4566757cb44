//! Rules about cards that wait too long.

use serde_json::json;

use crate::diagnostics::{Action, Case, Diagnostic, DiagnosticKind, Severity};
use crate::model::{Status, object};
use crate::plan::Verdict;

/// Blocked for long without an answer.
pub(super) fn stuck_in_blocked(case: &Case<'_>) -> Option<Diagnostic> {
    if case.task.status() != Status::Blocked {
        return None;
    }
    let since = case
        .events
        .iter()
        .rev()
        .find(|event| event.kind == "blocked")?
        .created_at;
    let hours = (case.now - since) / 3600;
    let answered = case.events.iter().any(|event| {
        matches!(event.kind.as_str(), "commented" | "unblocked") && event.created_at > since
    });
    if hours < case.thresholds.blocked_stale_hours || answered {
        return None;
    }
    let mut unblock = Action::plain("unblock", "Unblock it");
    unblock.payload.insert(
        "command".to_owned(),
        json!(format!("hermes kanban unblock {}", case.task.id)),
    );
    let data = object(json!({
        "blocked_at": since,
        "age_hours": hours,
    }));
    Some(Diagnostic {
        title: format!("Blocked for {hours} hours without an answer"),
        detail: "A blocked card waits for a person. See why it was blocked, then answer in a \
            comment or unblock it."
            .to_owned(),
        actions: vec![
            Action::plain("comment", "Answer in a comment").suggested(),
            unblock,
        ],
        first_seen_at: since,
        last_seen_at: since,
        data,
        ..case.diagnostic(DiagnosticKind::StuckInBlocked, Severity::Warning)
    })
}

/// Blocked again and again after somebody unblocked it.
pub(super) fn block_unblock_cycling(case: &Case<'_>) -> Option<Diagnostic> {
    let window = case.thresholds.block_cycle_window_seconds;
    let mut cycles = 0;
    let mut was_unblocked = false;
    let mut first = None;
    let mut last = case.now;
    for event in case
        .events
        .iter()
        .filter(|event| event.created_at >= case.now - window)
    {
        match event.kind.as_str() {
            "blocked" => {
                first.get_or_insert(event.created_at);
                if was_unblocked {
                    cycles += 1;
                    last = event.created_at;
                    was_unblocked = false;
                }
            }
            "unblocked" => was_unblocked = true,
            _ => {}
        }
    }
    if cycles < case.thresholds.block_cycle_threshold.max(1) {
        return None;
    }
    let command = format!("hermes kanban show {}", case.task.id);
    let data = object(json!({
        "cycles": cycles,
        "window_seconds": window,
    }));
    Some(Diagnostic {
        title: format!("Blocked {cycles} times after being unblocked"),
        detail: "Unblocking does not remove the reason. Another profile, a smaller card or a \
            clear answer may."
            .to_owned(),
        actions: vec![Action::command("See the reasons", command).suggested()],
        first_seen_at: first.unwrap_or(case.now),
        last_seen_at: last,
        count: cycles,
        data,
        ..case.diagnostic(DiagnosticKind::BlockUnblockCycling, Severity::Warning)
    })
}

/// Since when a card is ready.
pub(super) fn ready_since(case: &Case<'_>) -> i64 {
    let made_ready = case.events.iter().filter(|event| {
        matches!(
            event.kind.as_str(),
            "created" | "promoted" | "reclaimed" | "unblocked"
        )
    });
    let since = made_ready.map(|event| event.created_at).max();
    since.unwrap_or(case.task.created_at)
}

/// How severe it is that a card has waited for so many seconds; `None` if it is not yet.
pub(super) fn severity_of_wait(case: &Case<'_>, age: i64) -> Option<Severity> {
    match age / case.thresholds.stranded_threshold_seconds.max(1) {
        ..1 => None,
        1 => Some(Severity::Warning),
        2..6 => Some(Severity::Error),
        _ => Some(Severity::Critical),
    }
}

/// `2 h 5 min`.
pub(super) fn wait_text(age: i64) -> String {
    match age.max(0) {
        age @ 3600.. => format!("{} h {} min", age / 3600, age % 3600 / 60),
        age @ 60.. => format!("{} min", age / 60),
        age => format!("{age} s"),
    }
}

/// Ready and assigned, and nobody claims it. A card that waits for a limit or for its time is not
/// stranded, and one whose assignee cannot run has a diagnostic of its own.
pub(super) fn stranded_in_ready(case: &Case<'_>) -> Option<Diagnostic> {
    let task = case.task;
    let assignee = task
        .assignee
        .as_deref()
        .filter(|name| !name.trim().is_empty())?;
    if task.status() != Status::Ready || task.claim_lock.is_some() {
        return None;
    }
    let detail = match case.verdict {
        None => "A worker could start, but no dispatcher has started one: `hermes kanban daemon` \
             dispatches continuously."
            .to_owned(),
        Some(Verdict::NotSpawnable) => format!(
            "'{assignee}' is not a profile. Either the name is misspelt or the profile was deleted, \
             or the program that serves this lane is not running."
        ),
        Some(_) => return None,
    };
    let since = ready_since(case);
    let age = case.now - since;
    let severity = severity_of_wait(case, age)?;
    let mut reassign = Action::plain("reassign", "Assign it to another profile");
    reassign
        .payload
        .insert("current_assignee".to_owned(), json!(assignee));
    let command = format!("hermes kanban why {}", task.id);
    let data = object(json!({
        "ready_since": since,
        "age_seconds": age,
        "assignee": assignee,
        "threshold_seconds": case.thresholds.stranded_threshold_seconds.max(1),
    }));
    Some(Diagnostic {
        title: format!("Ready for {}, and nobody claims it", wait_text(age)),
        detail,
        actions: vec![
            Action::command("See what the dispatcher decides", command).suggested(),
            reassign,
        ],
        first_seen_at: since,
        last_seen_at: since,
        data,
        ..case.diagnostic(DiagnosticKind::StrandedInReady, severity)
    })
}
