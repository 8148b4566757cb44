//! `kanban_block`, `kanban_unblock` and `kanban_link`: a card waits for something or for another card,
//! and goes on.

use hermes_board::model::{BlockKind, Outcome, Run};
use hermes_board::store::{BlockRequest, BoardStore};
use serde_json::json;

use super::tool::{BOARD, BoardAnswer, BoardCall, KANBAN, existing};
use crate::argument::{ArgKind, Argument};
use crate::tool::ToolSpec;

pub(super) const BLOCK: ToolSpec = ToolSpec {
    name: "kanban_block",
    description: "Stops work on your card because it needs something you cannot get: an answer, a \
                  permission, another card. Say exactly what is needed and what you have done so \
                  far. Your attempt ends with this call. For work that a person has to look at, \
                  comment first, then block with 'review-required: …'.",
    arguments: &[
        Argument::required(
            "reason",
            ArgKind::Text,
            "What is needed, for the person who unblocks the card.",
        ),
        Argument::text("task_id", "Your card; may be left out."),
        Argument::optional(
            "kind",
            ArgKind::Choice(&["dependency", "needs_input", "capability", "transient"]),
            "dependency: another card comes first (link it). needs_input: a person decides. \
             capability: no agent here can do it. transient: it may work later.",
        ),
        BOARD,
    ],
    ..KANBAN
};

pub(super) const UNBLOCK: ToolSpec = ToolSpec {
    name: "kanban_unblock",
    description: "Unblocks a blocked or scheduled card: it becomes ready, or waits for its parents.",
    arguments: &[
        Argument::required("task_id", ArgKind::Text, "The card."),
        BOARD,
    ],
    ..KANBAN
};

pub(super) fn block(call: &BoardCall<'_>) -> BoardAnswer {
    let mut own = call.own_task("block")?;
    let id = own.id.clone();
    let reason = call.text("reason").ok_or("The reason is empty.")?;
    let kind = call.args["kind"].as_str().and_then(BlockKind::parse);
    let may_stop = matches!(kind, Some(BlockKind::Dependency | BlockKind::NeedsInput));
    if existing(&own.store, &id)?.goal_mode && !may_stop {
        return Err(format!(
            "{id} is worked on until its goal is reached: it can be blocked only with kind \
             'dependency' or 'needs_input'."
        )
        .into());
    }
    let request = BlockRequest {
        task: id.clone(),
        reason: Some(reason),
        kind,
        expected_run: own.run,
    };
    let is_ours = |ended: &Run| {
        ended.ended_how() == Some(Outcome::Blocked) && ended.summary == request.reason
    };
    let Some(outcome) = own.end_attempt(is_ours, |store| store.block(&request))? else {
        let status = existing(&own.store, &id)?.status_word().to_owned();
        return Ok(json!({"task_id": id, "run_id": own.run, "status": status}));
    };
    let mut fields = json!({
        "task_id": id,
        "run_id": outcome.run,
        "status": outcome.status.as_str(),
        "block_kind": outcome.kind.map(BlockKind::as_str),
    });
    if kind == Some(BlockKind::Dependency) && outcome.kind != kind {
        fields["note"] = json!("The card has no open parent, so it needs an answer from somebody.");
    }
    Ok(fields)
}

pub(super) fn unblock(call: &BoardCall<'_>) -> BoardAnswer {
    let id = call.named_task("task_id")?;
    let mut store = call.open()?;
    call.access.caller(&store)?.may_manage("unblock cards")?;
    let status = store.unblock(&id)?;
    Ok(json!({"task_id": id, "status": status.as_str()}))
}

pub(super) const LINK: ToolSpec = ToolSpec {
    name: "kanban_link",
    description: "Makes one card wait for another: child_id is not started before parent_id is done. \
                  Cycles are refused.",
    arguments: &[
        Argument::required(
            "parent_id",
            ArgKind::Text,
            "The card that must be done first.",
        ),
        Argument::required("child_id", ArgKind::Text, "The card that waits."),
        BOARD,
    ],
    ..KANBAN
};

pub(super) fn link(call: &BoardCall<'_>) -> BoardAnswer {
    let parent = call.named_task("parent_id")?;
    let child = call.named_task("child_id")?;
    let mut store = call.open()?;
    call.access.caller(&store)?.may_link(&store, &child)?;
    store.link(&parent, &child)?;
    Ok(json!({"parent_id": parent, "child_id": child}))
}
