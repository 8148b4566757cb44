//! Rules about cards that a dispatcher can start no worker for, as its plan says.

use serde_json::json;

use crate::diagnostics::waiting_rules::{ready_since, severity_of_wait, wait_text};
use crate::diagnostics::{Action, Case, Diagnostic, DiagnosticKind, Severity};
use crate::model::object;
use crate::plan::Verdict;

/// Ready, and nobody is assigned.
pub(super) fn unassigned_in_ready(case: &Case<'_>) -> Option<Diagnostic> {
    if case.verdict != Some(&Verdict::Unassigned) {
        return None;
    }
    let since = ready_since(case);
    let age = case.now - since;
    let severity = severity_of_wait(case, age).unwrap_or(Severity::Warning);
    let assign = format!("hermes kanban assign {} PROFILE", case.task.id);
    let default = "hermes config set kanban.default_assignee PROFILE".to_owned();
    Some(Diagnostic {
        title: format!("Without assignee for {}: no worker starts", wait_text(age)),
        detail: "Workers start for cards with an assignee. Assign the card, or set \
            kanban.default_assignee to an existing profile."
            .to_owned(),
        actions: vec![
            Action::command("Assign it", assign).suggested(),
            Action::command("Or name a profile for all such cards", default),
        ],
        first_seen_at: since,
        last_seen_at: since,
        data: object(json!({"ready_since": since, "age_seconds": age})),
        ..case.diagnostic(DiagnosticKind::UnassignedInReady, severity)
    })
}

/// Ready, and its assignee cannot run.
pub(super) fn cannot_start(case: &Case<'_>) -> Option<Diagnostic> {
    let Some(Verdict::CannotStart {
        assignee,
        problem,
        hint,
    }) = case.verdict
    else {
        return None;
    };
    let since = ready_since(case);
    let mut reassign = Action::plain("reassign", "Assign it to another profile");
    reassign
        .payload
        .insert("current_assignee".to_owned(), json!(assignee));
    let mend = hint.as_ref().map(|hint| Action {
        label: hint.clone(),
        ..Action::plain("cli_hint", "").suggested()
    });
    Some(Diagnostic {
        title: format!("{assignee} cannot run: {problem}"),
        detail: "No worker is started until that has changed: it would fail at once.".to_owned(),
        actions: mend.into_iter().chain([reassign]).collect(),
        first_seen_at: since,
        last_seen_at: since,
        data: object(json!({"assignee": assignee, "ready_since": since})),
        ..case.diagnostic(DiagnosticKind::CannotStart, Severity::Error)
    })
}
