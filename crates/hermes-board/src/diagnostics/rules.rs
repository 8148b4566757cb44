//! Rules about the claims of workers, and about triage.

use serde_json::{Value, json};

use crate::diagnostics::{Action, Case, Diagnostic, DiagnosticKind, Severity};
use crate::model::{Object, Status, object};
use crate::sqlite::PastEvent;

/// A worker named cards as its own that it did not create, and has not completed the card since.
pub(super) fn hallucinated_cards(case: &Case<'_>) -> Option<Diagnostic> {
    let signs = since_last_completion(case.events, "completion_blocked_hallucination");
    let (first, last) = (signs.first()?, signs.last()?);
    let mut actions = vec![Action::plain("comment", "Comment on how to go on")];
    actions.extend(Action::generic(case));
    Some(Diagnostic {
        title: "A worker named cards that it did not create".to_owned(),
        detail: "The completion was refused because it listed cards that do not exist or that \
            somebody else created. The card was left as it was. Usually the worker guessed ids \
            instead of using those that were returned when it created cards."
            .to_owned(),
        actions,
        first_seen_at: first.created_at,
        last_seen_at: last.created_at,
        count: count(&signs),
        data: listed(&signs, "phantom_cards", "phantom_ids"),
        ..case.diagnostic(DiagnosticKind::HallucinatedCards, Severity::Error)
    })
}

/// A summary names cards that do not exist.
pub(super) fn prose_phantom_refs(case: &Case<'_>) -> Option<Diagnostic> {
    let signs = since_last_completion(case.events, "suspected_hallucinated_references");
    let (first, last) = (signs.first()?, signs.last()?);
    Some(Diagnostic {
        title: "The summary names cards that do not exist".to_owned(),
        detail: "The card is done, but ids in its summary lead nowhere.".to_owned(),
        actions: Action::generic(case),
        first_seen_at: first.created_at,
        last_seen_at: last.created_at,
        count: count(&signs),
        data: listed(&signs, "phantom_refs", "phantom_refs"),
        ..case.diagnostic(DiagnosticKind::ProsePhantomRefs, Severity::Warning)
    })
}

/// In triage, and no model is configured that could take the card out of it.
pub(super) fn triage_aux_unavailable(case: &Case<'_>) -> Option<Diagnostic> {
    let models = case.thresholds.triage?;
    let (slot, configured, other) = if models.auto_decompose {
        (
            "auxiliary.kanban_decomposer",
            models.decomposer,
            "auxiliary.triage_specifier",
        )
    } else {
        (
            "auxiliary.triage_specifier",
            models.specifier,
            "auxiliary.kanban_decomposer",
        )
    };
    if case.task.status() != Status::Triage || configured || models.main_model {
        return None;
    }
    let set = |slot: &str| format!("hermes config set {slot}.provider auto");
    let mut actions = vec![
        Action::command("Configure the model", set(slot)).suggested(),
        Action::command("Or configure its substitute", set(other)),
    ];
    if !models.auto_decompose {
        let command = format!("hermes kanban specify {}", case.task.id);
        actions.push(Action::command("Then specify the card", command));
    }
    let data = object(json!({
        "task_id": case.task.id,
        "auto_decompose": models.auto_decompose,
        "primary_slot": slot,
        "main_model_visible": models.main_model,
    }));
    Some(Diagnostic {
        title: "No model can take this card out of triage".to_owned(),
        detail: format!(
            "{slot} is not configured, and there is no main model that could serve instead."
        ),
        actions,
        data,
        ..case.diagnostic(DiagnosticKind::TriageAuxUnavailable, Severity::Warning)
    })
}

/// Events of a kind that no later completion or edit has made irrelevant.
fn since_last_completion<'e>(events: &'e [PastEvent], kind: &str) -> Vec<&'e PastEvent> {
    let mut found = Vec::new();
    for event in events {
        match event.kind.as_str() {
            "completed" | "edited" => found.clear(),
            other if other == kind => found.push(event),
            _ => {}
        }
    }
    found
}

fn count(signs: &[&PastEvent]) -> i64 {
    i64::try_from(signs.len()).unwrap_or(i64::MAX)
}

/// The names that the events list, each once.
fn listed(signs: &[&PastEvent], key: &str, as_key: &str) -> Object {
    let mut names: Vec<&Value> = Vec::new();
    for sign in signs {
        let list = sign
            .payload
            .as_ref()
            .and_then(|payload| payload[key].as_array());
        for name in list.into_iter().flatten() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Object::from_iter([(as_key.to_owned(), json!(names))])
}
