//! `kanban_list`: the cards of a board, in short.

use hermes_board::ListQuery;
use hermes_board::model::{LinkedTask, Status};
use hermes_board::store::BoardStore;
use serde_json::{Value, json};

use super::tool::{BOARD, BoardAnswer, BoardCall, KANBAN};
use crate::argument::{ArgKind, Argument};
use crate::tool::ToolSpec;
const DEFAULT_LIMIT: u32 = 50;
const MOST: u32 = 200;

pub(super) const LIST: ToolSpec = ToolSpec {
    name: "kanban_list",
    description: "Lists cards of the task board, most urgent first, with the cards before and after \
                  each. Cards whose parents are done become ready first. kanban_show has the rest \
                  of a card.",
    arguments: &[
        Argument::text("assignee", "Only cards assigned to this profile."),
        Argument::optional(
            "status",
            ArgKind::Choice(&[
                "triage",
                "todo",
                "scheduled",
                "ready",
                "running",
                "blocked",
                "review",
                "done",
                "archived",
            ]),
            "Only cards with this status.",
        ),
        Argument::text("tenant", "Only cards in this namespace."),
        Argument::flag("include_archived", "Include archived cards."),
        Argument::optional(
            "limit",
            ArgKind::ClampedInt {
                min: 1,
                max: MOST as i64,
            },
            "Most cards. Default 50, at most 200.",
        ),
        BOARD,
    ],
    ..KANBAN
};

pub(super) fn list(call: &BoardCall<'_>) -> BoardAnswer {
    let args = call.args;
    let text = |name: &str| args[name].as_str().map(|text| text.trim().to_owned());
    let limit = args["limit"]
        .as_u64()
        .and_then(|limit| u32::try_from(limit).ok());
    let limit = limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MOST);
    let mut store = call.open()?;
    let promoted = store.promote_satisfied(call.access.options.failure_limit)?;
    let query = ListQuery {
        assignee: text("assignee"),
        status: args["status"].as_str().and_then(Status::parse),
        tenant: text("tenant"),
        include_archived: args["include_archived"] == Value::Bool(true),
        // One more than asked for tells whether there are more.
        limit: Some(limit + 1),
        ..ListQuery::default()
    };
    let mut cards: Vec<Value> = Vec::new();
    store.each_task(&query, &mut |card| {
        cards.push(in_short(&card));
        Ok(())
    })?;
    let truncated = cards.len() > limit as usize;
    cards.truncate(limit as usize);
    let next = (truncated && limit < MOST).then(|| (limit * 2).min(MOST));
    Ok(json!({
        "count": cards.len(),
        "tasks": cards,
        "limit": limit,
        "truncated": truncated,
        "next_limit": next,
        "promoted": promoted.len(),
    }))
}

fn in_short(card: &LinkedTask) -> Value {
    let task = &card.task;
    json!({
        "id": task.id,
        "title": task.title,
        "assignee": task.assignee,
        "status": task.status_word(),
        "priority": task.priority,
        "tenant": task.tenant,
        "workspace_kind": task.workspace_kind,
        "workspace_path": task.workspace_path,
        "created_by": task.created_by,
        "created_at": task.created_at,
        "started_at": task.started_at,
        "completed_at": task.completed_at,
        "current_run_id": task.current_run_id,
        "model_override": task.model_override,
        "parents": card.parents,
        "children": card.children,
        "parent_count": card.parents.len(),
        "child_count": card.children.len(),
    })
}
