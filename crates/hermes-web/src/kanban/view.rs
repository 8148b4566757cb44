//! The board as a whole, and a card with everything that belongs to it.

use hermes_board::diagnostics::{Diagnostic, DiagnosticKind, diagnose_board, diagnose_cards};
use hermes_board::model::{LinkedTask, Status, TaskId};
use hermes_board::plan::Plan;
use hermes_board::store::BoardStore as _;
use hermes_board::{DispatchFlags, ListQuery, RunFilter};
use serde::Serialize;
use serde_json::{Value, json};

use super::opened::{OpenBoard, card_id};
use crate::call::{Answered, Call, shared};
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
    json!(Card::of(task, now))
}

#[derive(Serialize)]
struct Card<'b> {
    #[serde(flatten)]
    task: &'b LinkedTask,
    age: Age,
    link_counts: LinkCounts,
}

/// In seconds.
#[derive(Serialize)]
struct Age {
    #[serde(rename = "created_age_seconds")]
    created: i64,
    #[serde(rename = "started_age_seconds")]
    started: Option<i64>,
    #[serde(rename = "time_to_complete_seconds")]
    to_complete: Option<i64>,
}

#[derive(Serialize)]
struct LinkCounts {
    parents: usize,
    children: usize,
}

impl<'b> Card<'b> {
    fn of(task: &'b LinkedTask, now: i64) -> Self {
        let inner = &task.task;
        let since = |at: i64| (now - at).max(0);
        let finished = inner.completed_at.zip(inner.started_at);
        Self {
            task,
            age: Age {
                created: since(inner.created_at),
                started: inner.started_at.map(since),
                to_complete: finished.map(|(end, begin)| (end - begin).max(0)),
            },
            link_counts: LinkCounts {
                parents: task.parents.len(),
                children: task.children.len(),
            },
        }
    }
}

/// What is wrong with a card; nothing is shown of a card with which all is well.
#[derive(Serialize)]
struct Troubles<'b> {
    diagnostics: &'b [Diagnostic],
    warnings: Warnings<'b>,
}

#[derive(Serialize)]
struct Warnings<'b> {
    count: usize,
    highest_severity: &'static str,
    kinds: Vec<&'b DiagnosticKind>,
}

impl<'b> Troubles<'b> {
    fn of(found: &'b [Diagnostic]) -> Option<Self> {
        let worst = found.first()?;
        Some(Self {
            diagnostics: found,
            warnings: Warnings {
                count: found.len(),
                highest_severity: worst.severity.as_str(),
                kinds: found.iter().map(|one| &one.kind).collect(),
            },
        })
    }
}

/// A card among all others.
#[derive(Serialize)]
struct BoardCard<'b> {
    #[serde(flatten)]
    card: Card<'b>,
    latest_summary: Option<String>,
    comment_count: i64,
    progress: Option<Progress>,
    #[serde(flatten)]
    troubles: Option<Troubles<'b>>,
}

#[derive(Serialize)]
struct Progress {
    done: i64,
    total: i64,
}

#[derive(Serialize)]
struct Column<'b> {
    name: &'static str,
    tasks: Vec<BoardCard<'b>>,
}

#[derive(Serialize)]
struct WholeBoard<'b> {
    columns: Vec<Column<'b>>,
    tenants: &'b [String],
    assignees: &'b [String],
    latest_event_id: i64,
    now: i64,
}

/// `GET /board`.
pub(crate) async fn board(call: Call) -> Answered {
    shared(call, whole_board).await
}

fn whole_board(call: &Call) -> Result<String, ApiError> {
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
    let tasks = cards.iter().map(|card| &card.task);
    let found = diagnose_cards(&open.store, tasks, &open.settings.thresholds, &plan)?;
    let mut columns: Vec<Column<'_>> = COLUMNS
        .iter()
        .chain(include_archived.then_some(&"archived"))
        .map(|name| Column {
            name,
            tasks: Vec::new(),
        })
        .collect();
    for task in &cards {
        let id = &task.task.id;
        let shown = BoardCard {
            card: Card::of(task, now),
            latest_summary: summaries
                .get(id)
                .map(|text| hermes_text::cut(text, SUMMARY).to_string()),
            comment_count: overview.comments.get(id.as_str()).copied().unwrap_or(0),
            progress: overview
                .progress
                .get(id.as_str())
                .map(|&(done, total)| Progress { done, total }),
            troubles: found.get(id).and_then(|found| Troubles::of(found)),
        };
        let word = task.task.status_word();
        let named = |name: &str| columns.iter().position(|column| column.name == name);
        let column = named(word).or_else(|| named("todo"));
        if let Some(column) = column.and_then(|index| columns.get_mut(index)) {
            column.tasks.push(shown);
        }
    }
    open.keep(call);
    call.masked(&WholeBoard {
        columns,
        tenants: &overview.tenants,
        assignees: &overview.assignees,
        latest_event_id: overview.latest_event_id,
        now,
    })
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
    if let Some(troubles) = Troubles::of(&found) {
        shown["diagnostics"] = json!(troubles.diagnostics);
        shown["warnings"] = json!(troubles.warnings);
    }
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
    let attachments = open.store.attachments(&id)?;
    open.keep(call);
    call.answer(json!({
        "task": shown,
        "comments": detail.comments,
        "events": detail.events,
        "attachments": attachments,
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
    open.keep(call);
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
    let open = OpenBoard::of(call)?;
    let stats = open.store.stats()?;
    open.keep(call);
    call.answer(json!(stats))
}
