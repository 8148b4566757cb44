//! The list of a session's background processes.

use std::time::Instant;

use serde_json::Value;

use super::process::Process;
use super::registry::remove_files;
use super::tool::{status, tail};
use crate::local::ToolContext;
use crate::local::arguments::Fields;
use crate::local::tool::redact;

const LIST_PREVIEW: usize = 200;

pub(super) fn list(context: &ToolContext<'_>) -> Value {
    let terminal = context.terminal;
    let session = terminal.sessions.root_of(context.session);
    let registry = &terminal.background;
    registry.refresh_all();
    let mut state = registry.shared.lock();
    for id in state.forget_old(Instant::now()) {
        remove_files(&registry.shared.directory, &id);
    }
    let mut rows: Vec<&Process> = state
        .processes
        .values()
        .filter(|process| process.session == session)
        .collect();
    rows.sort_by_key(|process| process.started_at);
    let rows: Vec<Value> = rows
        .into_iter()
        .map(|process| list_row(process, context))
        .collect();
    Fields::default().with("processes", rows).into_value()
}

fn list_row(process: &Process, context: &ToolContext<'_>) -> Value {
    let started = jiff::Timestamp::try_from(process.started_at)
        .unwrap_or_default()
        .to_zoned(hermes_time::local())
        .strftime("%Y-%m-%dT%H:%M:%S")
        .to_string();
    let shown =
        |text: &str| -> String { redact(context, text).chars().take(LIST_PREVIEW).collect() };
    let patterns = process.watch.patterns();
    let mut fields = Fields::default()
        .with("session_id", process.id.as_str())
        .with("command", shown(&process.command))
        .with("cwd", redact(context, &process.cwd))
        .with("pid", process.tree.leader)
        .with("started_at", started)
        .with("uptime_seconds", process.uptime().as_secs())
        .with("status", status(process))
        .with("output_preview", tail(process, LIST_PREVIEW, context));
    if let Some(ending) = process.ending() {
        fields = fields.with("exit_code", ending.exit_code);
    }
    fields
        .with_some("detached", process.detached.then_some(true))
        .with_some("session_scoped", Some(true))
        .with_some(
            "watch_patterns",
            (!patterns.is_empty()).then(|| patterns.to_vec()),
        )
        .with_some("watch_hit", process.watch.has_hit.then_some(true))
        .with_some("notify_on_complete", process.notify.then_some(true))
        .into_value()
}
