//! `kanban_comment` and `kanban_heartbeat`: a comment on any card, and a sign that long work on the own
//! one goes on.

use hermes_board::StoredBoard;
use hermes_board::model::TaskId;
use hermes_board::store::{Applied, BoardStore};
use serde_json::json;

use super::tool::{BOARD, BoardAnswer, BoardCall, BoardRefusal, KANBAN, OwnTask};
use crate::argument::{ArgKind, Argument};
use crate::tool::ToolSpec;

pub(super) const COMMENT: ToolSpec = ToolSpec {
    name: "kanban_comment",
    description: "Adds a comment to a card. It stays for people and for later workers: findings, \
                  open questions, hints for another card. With review_comment: answers a reviewer's \
                  comment on lines of your work, and resolves it if you say so. No secrets.",
    arguments: &[
        Argument::required("task_id", ArgKind::Text, "The card; any card of the board."),
        Argument::required("body", ArgKind::Text, "Text of the comment."),
        Argument::optional(
            "review_comment",
            ArgKind::at_least(1),
            "Number of the review comment that this answers; only on your own card.",
        ),
        Argument::flag("resolve", "With review_comment: whether it is dealt with."),
        BOARD,
    ],
    ..KANBAN
};

pub(super) fn comment(call: &BoardCall<'_>) -> BoardAnswer {
    let id = call.named_task("task_id")?;
    let body = call.text("body").ok_or("The comment is empty.")?;
    let mut store = call.open()?;
    if !call.args["review_comment"].is_null() {
        return answer_review(call, &id, &body, store);
    }
    if call.args["resolve"].as_bool().unwrap_or(false) {
        return Err("resolve needs the number of a review comment in review_comment.".into());
    }
    // The author is never an argument: a comment must not pass for somebody else's.
    let number = store.add_comment(&id, &call.access.author, &body)?;
    Ok(json!({"task_id": id, "comment_id": number}))
}

/// Answers a comment of a reviewer on the worker's own card.
fn answer_review(
    call: &BoardCall<'_>,
    id: &TaskId,
    body: &str,
    mut store: StoredBoard,
) -> BoardAnswer {
    let number = call.args["review_comment"].as_u64();
    let number = number.and_then(|number| u32::try_from(number).ok());
    let number = number.ok_or("review_comment is not the number of a comment.")?;
    let caller = call.access.caller(&store)?;
    caller.may_change(id, "answer review comments of")?;
    let author = &call.access.author;
    store.reply_to_review(id, number, author, body)?;
    let is_resolved = call.args["resolve"].as_bool().unwrap_or(false);
    if is_resolved {
        store.resolve_review(id, number, author)?;
    }
    Ok(json!({"task_id": id, "review_comment": number, "resolved": is_resolved}))
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
