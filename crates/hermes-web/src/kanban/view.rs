//! The board as a whole, and a card with everything that belongs to it.

use std::collections::HashMap;

use hermes_board::diagnostics::{CardDiagnostics, Diagnostic, diagnose_board};
use hermes_board::model::{LinkedTask, Status, TaskId};
use hermes_board::plan::Plan;
use hermes_board::store::BoardStore as _;
use hermes_board::{DispatchFlags, ListQuery, RunFilter};
use serde_json::{Map, Value, json};

use super::opened::{OpenBoard, card_id};
use crate::call::{Answered, Call};
use crate::http::ApiError;

/// Columns, in order; a card whose status has none stands in `todo`.
const COLUMNS: [&str; 8] = [
    "triage",
    "todo",
    "scheduled",
    "ready",
    "running",
    "blocked",
    "review",
    "done",
];
/// Most of a summary on a card.
const SUMMARY: usize = 200;

/// A card as clients see it, with how old it is.
pub(super) fn card(task: &LinkedTask, now: i64) -> Value {
    let mut shown = json!(task);
    let inner = &task.task;
    let since = |at: Option<i64>| at.map(|at| (now - at).max(0));
    let finished = inner.completed_at.zip(inner.started_at);
    shown["age"] = json!({
        "created_age_seconds": since(Some(inner.created_at)),
        "started_age_seconds": since(inner.started_at),
        "time_to_complete_seconds": finished.map(|(end, begin)| (end - begin).max(0)),
    });
    shown["link_counts"] = json!({"parents": task.parents.len(), "children": task.children.len()});
    shown
}

fn add_diagnostics(shown: &mut Value, found: &[Diagnostic]) {
    let Some(worst) = found.first() else {
        return;
    };
    shown["diagnostics"] = json!(found);
    shown["warnings"] = json!({
        "count": found.len(),
        "highest_severity": worst.severity.as_str(),
        "kinds": found.iter().map(|one| json!(one.kind)).collect::<Vec<_>>(),
    });
}

/// `GET /board`.
pub(crate) fn board(call: &Call) -> Answered {
    let include_archived = call.query_flag("include_archived")?;
    let open = OpenBoard::of(call)?;
    let now = open.store.now();
    let query = ListQuery {
        tenant: call.query("tenant"),
        workflow_template_id: call.query("workflow_template_id"),
        step_key: call.query("current_step_key"),
        include_archived,
        ..ListQuery::default()
    };
    let mut cards: Vec<LinkedTask> = Vec::new();
    open.store.each_task(&query, &mut |task| {
        cards.push(task);
        Ok(())
    })?;
    let overview = open.store.overview()?;
    let ids: Vec<TaskId> = cards.iter().map(|card| card.task.id.clone()).collect();
    let summaries = open.store.latest_summaries(&ids)?;
    let plan = open
        .dispatcher(&DispatchFlags::default())
        .preview(&open.store)?;
    let found = diagnose_board(&open.store, None, &open.settings.thresholds, &plan)?;
    let found: HashMap<&TaskId, &CardDiagnostics> =
        found.iter().map(|card| (&card.task_id, card)).collect();
    let mut columns: Map<String, Value> = COLUMNS
        .iter()
        .chain(include_archived.then_some(&"archived"))
        .map(|name| ((*name).to_owned(), json!([])))
        .collect();
    for task in &cards {
        let id = &task.task.id;
        let mut shown = card(task, now);
        let summary = summaries
            .get(id)
            .map(|text| hermes_text::cut(text, SUMMARY));
        shown["latest_summary"] = json!(summary);
        let comments = overview.comments.get(id.as_str());
        shown["comment_count"] = json!(comments.copied().unwrap_or(0));
        let progress = overview.progress.get(id.as_str());
        shown["progress"] =
            json!(progress.map(|(done, total)| json!({"done": done, "total": total})));
        if let Some(card) = found.get(id) {
            add_diagnostics(&mut shown, &card.diagnostics);
        }
        let word = task.task.status_word();
        let column = if columns.contains_key(word) {
            word
        } else {
            "todo"
        };
        if let Some(Value::Array(column)) = columns.get_mut(column) {
            column.push(shown);
        }
    }
    let columns: Vec<Value> = columns
        .into_iter()
        .map(|(name, tasks)| json!({"name": name, "tasks": tasks}))
        .collect();
    call.answer(json!({
        "columns": columns,
        "tenants": overview.tenants,
        "assignees": overview.assignees,
        "latest_event_id": overview.latest_event_id,
        "now": now,
    }))
}

/// `GET /tasks/{task_id}`.
pub(crate) fn show(call: &Call) -> Answered {
    let id = card_id(call)?;
    let filter = match (call.query("run_state_type"), call.query("run_state_name")) {
        (None, None) => None,
        (Some(kind), Some(word)) => Some(RunFilter::parse(&kind, &word)?),
        _ => {
            let message = "run_state_type and run_state_name must be given together";
            return Err(ApiError::bad_request(message));
        }
    };
    let open = OpenBoard::of(call)?;
    let detail = open.store.show(&id, filter.as_ref())?;
    let plan = match detail.task.task.status() {
        Status::Ready | Status::Review => {
            let mut dispatcher = open.dispatcher(&DispatchFlags::default());
            dispatcher.preview_card(&open.store, &id)?
        }
        _ => Plan::default(),
    };
    let found = diagnose_board(&open.store, Some(&id), &open.settings.thresholds, &plan)?;
    let found: Vec<Diagnostic> = found
        .into_iter()
        .flat_map(|card| card.diagnostics)
        .collect();
    let mut shown = card(&detail.task, open.store.now());
    shown["latest_summary"] = json!(detail.latest_summary);
    add_diagnostics(&mut shown, &found);
    let summaries = open.store.latest_summaries(&detail.children)?;
    let mut children = Vec::new();
    for child in &detail.children {
        if let Some(task) = open.store.task(child)? {
            children.push(json!({
                "id": child,
                "title": task.title,
                "status": task.status_word(),
                "latest_summary": summaries.get(child),
                "result": task.result,
            }));
        }
    }
    call.answer(json!({
        "task": shown,
        "comments": detail.comments,
        "events": detail.events,
        "attachments": open.store.attachments(&id)?,
        "links": {"parents": detail.parents, "children": detail.children},
        "child_results": children,
        "runs": detail.runs,
        "checks": detail.checks,
        "checked": detail.checked,
    }))
}

/// `GET /diagnostics`.
pub(crate) fn diagnostics(call: &Call) -> Answered {
    let open = OpenBoard::of(call)?;
    let plan = open
        .dispatcher(&DispatchFlags::default())
        .preview(&open.store)?;
    let mut found = diagnose_board(&open.store, None, &open.settings.thresholds, &plan)?;
    if let Some(least) = call.query("severity") {
        let known = hermes_board::diagnostics::Severity::ALL;
        let Some(least) = known.iter().find(|one| one.as_str() == least) else {
            let message = "must be warning, error or critical";
            return Err(ApiError::invalid(&["query", "severity"], message, "enum"));
        };
        for card in &mut found {
            card.diagnostics.retain(|one| one.severity >= *least);
        }
        found.retain(|card| !card.diagnostics.is_empty());
    }
    let count: usize = found.iter().map(|card| card.diagnostics.len()).sum();
    call.answer(json!({"diagnostics": found, "count": count}))
}

/// `GET /stats`.
pub(crate) fn stats(call: &Call) -> Answered {
    let stats = OpenBoard::of(call)?.store.stats()?;
    call.answer(json!(stats))
}
