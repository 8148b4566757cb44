//! `kanban_link`: one card waits for another.

use hermes_board::store::BoardStore;
use serde_json::{Map, Value};

use super::desk::named_task;
use super::show::BOARD;
use super::verb::{Audience, Call, Refusal, Verb, facts};
use crate::argument::{ArgKind, Argument};

pub(super) const LINK: Verb = Verb {
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
    audience: Audience::All,
    run: link,
};

fn link(call: &Call<'_>) -> Result<Map<String, Value>, Refusal> {
    let parent = named_task(call.args, "parent_id").ok_or("parent_id is empty.")?;
    let child = named_task(call.args, "child_id").ok_or("child_id is empty.")?;
    let mut store = call.desk.open(call.args)?;
    store.link(&parent, &child)?;
    Ok(facts! {"parent_id": parent, "child_id": child})
}
