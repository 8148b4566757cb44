//! What a dispatcher would do with a card, and why: `kanban why` for pages.

use hermes_board::DispatchFlags;
use hermes_runtime::Context;
use serde_json::{Value, json};

use super::opened::{OpenBoard, card_id};
use crate::call::{Answered, Call};

/// `GET /tasks/{task_id}/why`.
pub(crate) fn why(call: &Call) -> Answered {
    let id = card_id(call)?;
    let open = OpenBoard::of(call)?;
    let task = open.task(&id)?;
    let verdicts = open
        .dispatcher(&DispatchFlags::default())
        .why(&open.store, &id)?;
    let rows: Vec<Value> = verdicts
        .iter()
        .map(|verdict| {
            let mut row = json!(verdict);
            row["sentence"] = json!(verdict.sentence(|at| minute(&open.context, at)));
            row
        })
        .collect();
    call.answer(json!({
        "task_id": task.id,
        "status": task.status_word(),
        "assignee": task.assignee,
        "verdicts": rows,
    }))
}

/// Day and minute in the zone of the profile.
fn minute(context: &Context, at: i64) -> String {
    match jiff::Timestamp::from_second(at) {
        Ok(at) => {
            let local = at.to_zoned(context.zone().resolve());
            local.strftime("%Y-%m-%d %H:%M").to_string()
        }
        Err(_) => at.to_string(),
    }
}
