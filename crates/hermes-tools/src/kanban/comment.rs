//! `kanban_comment` and `kanban_heartbeat`: a comment on any card, and a sign that long work on the own
//! one goes on.

use hermes_board::store::{Applied, BoardStore};
use serde_json::json;

use super::tool::{BOARD, BoardAnswer, BoardCall, BoardRefusal, KANBAN, OwnTask};
use crate::argument::{ArgKind, Argument};
use crate::tool::ToolSpec;

pub(super) const COMMENT: ToolSpec = ToolSpec {
    name: "kanban_comment",
    description: "Adds a comment to a card. It stays for people and for later workers: findings, \
                  open questions, hints for another card. No secrets.",
    arguments: &[
        Argument::required("task_id", ArgKind::Text, "The card; any card of the board."),
        Argument::required("body", ArgKind::Text, "Text of the comment."),
        BOARD,
    ],
    ..KANBAN
};

pub(super) fn comment(call: &BoardCall<'_>) -> BoardAnswer {
    let id = call.named_task("task_id")?;
    let body = call.text("body").ok_or("The comment is empty.")?;
    let mut store = call.open()?;
    // The author is never an argument: a comment must not pass for somebody else's.
    let number = store.add_comment(&id, &call.access.author, &body)?;
    Ok(json!({"task_id": id, "comment_id": number}))
}

pub(super) const HEARTBEAT: ToolSpec = ToolSpec {
    name: "kanban_heartbeat",
    description: "Reports that you are still working on your card, so that it is not given to another \
                  worker. Call it every few minutes during long work, and at least once an hour.",
    arguments: &[
        Argument::text("task_id", "Your card; may be left out."),
        Argument::text("note", "Progress, in a few words."),
        BOARD,
    ],
    ..KANBAN
};

pub(super) fn heartbeat(call: &BoardCall<'_>) -> BoardAnswer {
    let access = call.access;
    let OwnTask { id, run, mut store } = call.own_task("send a heartbeat for")?;
    let note = call.text("note");
    store.heartbeat(&id, note.as_deref(), run)?;
    // A worker without a claim of its own has nothing to extend; one whose card was reclaimed learns
    // it here and not after hours of work.
    let own = access.worker().filter(|worker| worker.task == id);
    if let Some(claim) = own.and_then(|worker| worker.claim_lock.as_deref())
        && store.extend_own_claim(&id, claim, access.claim_ttl_seconds)? == Applied::LostRace
    {
        return Err(BoardRefusal::from(format!(
            "{id} is now claimed by another worker; stop, and leave the card to it."
        ))
        .with("attempt_over", true));
    }
    Ok(json!({"task_id": id}))
}
