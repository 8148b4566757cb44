//! `kanban_comment`: a comment on any card.

use serde_json::{Map, Value};

use super::desk::named_task;
use super::show::BOARD;
use super::verb::{Audience, Call, Refusal, Verb, facts};
use crate::argument::{ArgKind, Argument};

pub(super) const COMMENT: Verb = Verb {
    name: "kanban_comment",
    description: "Adds a comment to a card. It stays for people and for later workers: findings, \
                  open questions, hints for another card. No secrets.",
    arguments: &[
        Argument::required("task_id", ArgKind::Text, "The card; any card of the board."),
        Argument::required("body", ArgKind::Text, "Text of the comment."),
        BOARD,
    ],
    audience: Audience::All,
    run: comment,
};

fn comment(call: &Call<'_>) -> Result<Map<String, Value>, Refusal> {
    let id = named_task(call.args, "task_id").ok_or("task_id is empty.")?;
    let body = call.text("body").ok_or("The comment is empty.")?;
    let mut store = call.desk.open(call.args)?;
    // The author is never an argument: a comment must not pass for somebody else's.
    let number = store.add_comment(&id, &call.desk.author, &body)?;
    Ok(facts! {"task_id": id, "comment_id": number})
}
