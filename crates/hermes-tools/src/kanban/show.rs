//! `kanban_show`: everything about one card.

use hermes_board::worker_context;
use serde_json::json;

use super::tool::{BOARD, BoardAnswer, BoardCall, KANBAN};
use crate::argument::Argument;
use crate::tool::ToolSpec;

/// Most events that are shown; older ones rarely matter.
const SHOWN_EVENTS: usize = 50;

/// Most open review comments that are shown.
const SHOWN_COMMENTS: usize = 100;

pub(super) const SHOW: ToolSpec = ToolSpec {
    name: "kanban_show",
    description: "Shows a card of the task board: its text, the cards before and after it, comments, \
                  attempts and recent events. worker_context is all of that as one text, in the \
                  order in which it matters. Without task_id: your own card. Begin work on a card \
                  with it.",
    arguments: &[
        Argument::text("task_id", "The card; your own if left out."),
        BOARD,
    ],
    ..KANBAN
};

pub(super) fn show(call: &BoardCall<'_>) -> BoardAnswer {
    let id = call.any_task()?;
    let store = call.open()?;
    let mut card = store.show(&id, None)?;
    let older = card.events.len().saturating_sub(SHOWN_EVENTS);
    card.events.drain(..older);
    let options = call.access.context_of(&id);
    if let Some(seen) = &options.workspace {
        card.task.task.workspace_path = Some(seen.to_string_lossy().into_owned());
    }
    let review = store.review(&id)?;
    Ok(json!({
        "task": card.task,
        "parents": card.parents,
        "children": card.children,
        "comments": card.comments,
        "events": card.events,
        "runs": card.runs,
        "checks": card.checks,
        "review": review.open().take(SHOWN_COMMENTS).collect::<Vec<_>>(),
        "worker_context": worker_context(&store, &id, &options)?,
    }))
}
