//! `hermes kanban show`.

use hermes_board::diagnostics::{Diagnostic, Severity, diagnose_board};
use hermes_board::model::{Review, Run, Status, Task, TaskId};
use hermes_board::plan::Plan;
use hermes_board::store::FailurePolicy;
use hermes_board::{CardDetail, DispatchFlags, RunFilter};
use serde::Serialize;
use serde_json::Value;

use super::cards::{NAME, TITLE, assignee, joined, padded, particulars};
use super::checks::{self, CheckPlace};
use super::review::{located, review_line};
use super::session::{BoardSession, Kanban, usage};
use crate::error::Result;
use crate::ui::{one_line, visible};

/// Events shown; JSON has all of them.
const EVENTS: usize = 20;
/// Longest summary or error of an attempt that is printed, in characters.
const HANDOFF: usize = 160;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    #[command(flatten)]
    filter: FilterArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Which attempts are shown.
#[derive(Debug, clap::Args)]
pub(crate) struct FilterArgs {
    /// Only attempts whose status or outcome equals --state-name
    #[arg(long, value_name = "TYPE", value_parser = ["status", "outcome"])]
    state_type: Option<String>,
    /// The status or outcome to filter by
    #[arg(long, value_name = "WORD")]
    state_name: Option<String>,
}

impl FilterArgs {
    pub(super) fn filter(&self) -> Result<Option<RunFilter>> {
        match (&self.state_type, &self.state_name) {
            (None, None) => Ok(None),
            (Some(kind), Some(word)) => Ok(Some(RunFilter::parse(kind, word)?)),
            _ => Err(usage(
                "--state-type and --state-name must be given together",
            )),
        }
    }
}

/// A card for programs.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    card: CardDetail,
    /// Where its checks run; see [`CheckPlace`].
    #[serde(skip_serializing_if = "Option::is_none")]
    checks_run: Option<&'static str>,
    review: Review,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let filter = args.filter.filter()?;
    let session = kanban.open()?;
    if args.json {
        let card = session.store.show(&args.id, filter.as_ref())?;
        let place = CheckPlace::of(kanban, &card.task.task, &card.checks);
        kanban.json(&Shown {
            checks_run: place.map(|place| place.word),
            review: located(&session, &args.id)?,
            card,
        })?;
    } else {
        kanban.out(&text(&session, &args.id, filter.as_ref())?)?;
    }
    Ok(())
}

/// A card with everything that belongs to it, as text.
pub(super) fn text(
    session: &BoardSession<'_>,
    id: &TaskId,
    filter: Option<&RunFilter>,
) -> Result<String> {
    let card = session.store.show(id, filter)?;
    // Only about waiting cards there is something that a dispatcher would say.
    let plan = match card.task.task.status() {
        Status::Ready | Status::Review => session
            .dispatcher(&DispatchFlags::default())
            .preview_card(&session.store, id)?,
        _ => Plan::default(),
    };
    let thresholds = &session.settings.thresholds;
    let signs = diagnose_board(&session.store, Some(id), thresholds, &plan)?;
    let signs = signs.into_iter().flat_map(|card| card.diagnostics);
    let rounds = session.store.check_sessions(id)?;
    let mut text = facts(session, &card);
    text.push_str(&distress(&signs.collect::<Vec<_>>()));
    text.push_str(&section("Body", card.task.task.body.as_deref()));
    let checks = checks::describe(&card.checks, card.checked, rounds.first());
    if !checks.is_empty() {
        text.push_str(&format!("\n{checks}"));
    }
    if let Some(place) = CheckPlace::of(session, &card.task.task, &card.checks) {
        text.push_str(&format!("  {}\n", place.sentence));
    }
    if let Some(line) = review_line(session, &located(session, id)?) {
        text.push_str(&format!("\nReview: {line}\n"));
    }
    let result = card.task.task.result.as_deref();
    if result.is_some_and(|result| !result.trim().is_empty()) {
        text.push_str(&section("Result", result));
    } else {
        text.push_str(&section("Latest summary", card.latest_summary.as_deref()));
    }
    text.push_str(&history(session, &card));
    Ok(text)
}

fn facts(session: &BoardSession<'_>, card: &CardDetail) -> String {
    let task = &card.task.task;
    let mut out = format!("Task {}: {}\n", task.id, one_line(&task.title, TITLE));
    let mut fact = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            out.push_str(&format!("  {} {value}\n", padded(&format!("{name}:"), 12)));
        }
    };
    let line = |text: &Option<String>| {
        let text = text.as_deref().filter(|text| !text.is_empty());
        text.map(|text| one_line(text, TITLE))
    };
    let moment = |at: Option<i64>| at.map(|at| session.minute(at));
    fact("status", Some(one_line(task.status_word(), NAME)));
    fact("assignee", Some(one_line(assignee(task, "-"), NAME)));
    fact(
        "priority",
        (task.priority != 0).then(|| task.priority.to_string()),
    );
    fact("tenant", line(&task.tenant));
    fact("workspace", Some(workspace(task)));
    fact("branch", line(&task.branch_name));
    fact("repository", line(&task.repository));
    fact("project", line(&task.project_id));
    fact("host", placement(task));
    fact("skills", task.skills.as_ref().map(|skills| joined(skills)));
    fact("model", line(&task.model_override));
    let seconds = task
        .max_runtime_seconds
        .map(|seconds| format!("{seconds}s"));
    fact("max-runtime", seconds);
    fact("max-retries", Some(retries(session, task)));
    fact(
        "goal",
        task.goal_mode
            .then(|| "until a judge decides that the goal is reached".to_owned()),
    );
    let sandbox = task.sandbox.as_deref().unwrap_or("as its profile says");
    fact("sandbox", Some(one_line(sandbox, NAME)));
    let by = task.created_by.as_deref().unwrap_or("-");
    let created = format!(
        "{} by {}",
        session.minute(task.created_at),
        one_line(by, NAME)
    );
    fact("created", Some(created));
    fact("scheduled", moment(task.scheduled_at));
    fact("claimed by", line(&task.claim_lock));
    fact("started", moment(task.started_at));
    fact("completed", moment(task.completed_at));
    let neighbours = |ids: &[TaskId]| (!ids.is_empty()).then(|| joined(ids));
    fact("parents", neighbours(&card.parents));
    fact("children", neighbours(&card.children));
    fact("last error", line(&task.last_failure_error));
    let denied = card.events.iter();
    let denied = denied
        .filter(|event| event.kind == "command_denied")
        .count();
    fact(
        "denied",
        (denied > 0).then(|| format!("{denied} command(s) of its workers; see the events")),
    );
    out
}

fn workspace(task: &Task) -> String {
    let kind = one_line(&task.workspace_kind, NAME);
    match &task.workspace_path {
        Some(path) => format!("{kind} @ {}", one_line(path, TITLE)),
        None => kind,
    }
}

/// Which hosts may work on the card, if it asks for some.
fn placement(task: &Task) -> Option<String> {
    let labels = (!task.host_labels.is_empty()).then(|| joined(&task.host_labels));
    let on = task.host_name.as_deref().map(|name| one_line(name, NAME));
    match (on, labels) {
        (Some(on), Some(labels)) => Some(format!("{on}, with {labels}")),
        (Some(on), None) => Some(on),
        (None, Some(labels)) => Some(format!("any with {labels}")),
        (None, None) => None,
    }
}

/// The failure limit, and where it comes from.
fn retries(session: &BoardSession<'_>, task: &Task) -> String {
    match (task.max_retries, session.settings.limits.failure_limit) {
        (Some(own), _) => format!("{own} (task)"),
        (None, FailurePolicy::DEFAULT_LIMIT) => {
            format!("{} (default)", FailurePolicy::DEFAULT_LIMIT)
        }
        (None, configured) => format!("{configured} (config kanban.failure_limit)"),
    }
}

/// What is wrong with a card, the worst first.
fn distress(signs: &[Diagnostic]) -> String {
    if signs.is_empty() {
        return String::new();
    }
    let mut out = format!("\n  Diagnostics ({}):\n", signs.len());
    for sign in signs {
        out.push_str(&format!(
            "    {} [{}] {}\n",
            mark(sign.severity),
            sign.severity,
            one_line(&sign.title, TITLE)
        ));
        out.push_str(&sign_details(sign));
    }
    out
}

/// Details of a diagnostic, and what to try first.
pub(super) fn sign_details(sign: &Diagnostic) -> String {
    let mut out = String::new();
    if !sign.data.is_empty() {
        let parts: Vec<String> = sign
            .data
            .iter()
            .map(|(key, value)| format!("{key}={}", one_line(&plain(value), TITLE)))
            .collect();
        out.push_str(&format!("       data: {}\n", parts.join(" | ")));
    }
    for action in sign.actions.iter().filter(|action| action.suggested) {
        out.push_str(&format!("       → {}\n", one_line(&action.label, TITLE)));
    }
    out
}

pub(super) fn mark(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "⚠",
        Severity::Error => "!!",
        Severity::Critical => "!!!",
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            items.join(",")
        }
        other => other.to_string(),
    }
}

/// A text under its heading, if there is any.
fn section(heading: &str, text: Option<&str>) -> String {
    match text.filter(|text| !text.trim().is_empty()) {
        Some(text) => format!("\n{heading}:\n{}\n", visible(text.trim_end())),
        None => String::new(),
    }
}

fn history(session: &BoardSession<'_>, card: &CardDetail) -> String {
    let mut out = String::new();
    if !card.comments.is_empty() {
        out.push_str(&format!("\nComments ({}):\n", card.comments.len()));
    }
    for comment in &card.comments {
        out.push_str(&format!(
            "  [{}] {}: {}\n",
            session.minute(comment.created_at),
            one_line(&comment.author, NAME),
            visible(comment.body.trim_end())
        ));
    }
    if !card.events.is_empty() {
        out.push_str(&format!("\nEvents ({}):\n", card.events.len()));
    }
    let skipped = card.events.len().saturating_sub(EVENTS);
    for event in card.events.iter().skip(skipped) {
        let run = event.run_id.map(|run| format!(" [run {run}]"));
        out.push_str(&format!(
            "  [{}]{} {}{}\n",
            session.minute(event.created_at),
            run.unwrap_or_default(),
            one_line(&event.kind, NAME),
            particulars(event.payload.as_ref())
        ));
    }
    if !card.runs.is_empty() {
        out.push_str(&format!("\nRuns ({}):\n", card.runs.len()));
    }
    for run in &card.runs {
        let profile = run.profile.as_deref().unwrap_or("-");
        out.push_str(&format!(
            "  #{} {} @{}  {}  {}{}\n",
            padded(&run.id.to_string(), 3),
            padded(&outcome(run), 12),
            one_line(profile, NAME),
            run.ended_at.map_or_else(
                || "active".to_owned(),
                |end| format!("{}s", (end - run.started_at).max(0))
            ),
            session.minute(run.started_at),
            on_host(run)
        ));
        for (sign, text) in [("→", &run.summary), ("!", &run.error)] {
            if let Some(line) = text.as_deref().and_then(|text| text.trim().lines().next()) {
                out.push_str(&format!("        {sign} {}\n", one_line(line, HANDOFF)));
            }
        }
    }
    out
}

/// The host of an attempt, behind what else is said about it.
pub(super) fn on_host(run: &Run) -> String {
    let host = run.host.as_deref();
    host.map(|host| format!("  on {}", one_line(host, NAME)))
        .unwrap_or_default()
}

/// The outcome of an attempt, or its status.
pub(super) fn outcome(run: &Run) -> String {
    match (&run.outcome, run.ended_at) {
        (Some(outcome), _) => one_line(outcome, NAME),
        (None, Some(_)) => one_line(&run.status, NAME),
        (None, None) => "(running)".to_owned(),
    }
}
