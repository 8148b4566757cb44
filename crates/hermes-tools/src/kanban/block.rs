//! `kanban_block` and `kanban_unblock`: stopping a card until something happens, and letting it go on.

use hermes_board::model::BlockKind;
use hermes_board::store::{BlockRequest, BoardStore};
use serde_json::{Map, Value};

use super::desk::{known, named_task};
use super::show::BOARD;
use super::verb::{Audience, Call, Refusal, Verb, facts};
use crate::argument::{ArgKind, Argument};

pub(super) const BLOCK: Verb = Verb {
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
        Argument::optional("task_id", ArgKind::Text, "Your card; may be left out."),
        Argument::optional(
            "kind",
            ArgKind::Choice(&["dependency", "needs_input", "capability", "transient"]),
            "dependency: another card comes first (link it). needs_input: a person decides. \
             capability: no agent here can do it. transient: it may work later.",
        ),
        BOARD,
    ],
    audience: Audience::All,
    run: block,
};

pub(super) const UNBLOCK: Verb = Verb {
    name: "kanban_unblock",
    description: "Unblocks a blocked or scheduled card: it becomes ready, or waits for its parents.",
    arguments: &[
        Argument::required("task_id", ArgKind::Text, "The card."),
        BOARD,
    ],
    audience: Audience::Orchestrators,
    run: unblock,
};

fn block(call: &Call<'_>) -> Result<Map<String, Value>, Refusal> {
    let desk = call.desk;
    let id = desk.own_task(call.args, "block")?;
    let reason = call.text("reason").ok_or("The reason is empty.")?;
    let kind = call.args["kind"].as_str().and_then(BlockKind::parse);
    let mut store = desk.open(call.args)?;
    let may_stop = matches!(kind, Some(BlockKind::Dependency | BlockKind::NeedsInput));
    if known(&store, &id)?.goal_mode && !may_stop {
        return Err(Refusal::from(format!(
            "{id} is worked on until its goal is reached: it can be blocked only with kind \
             'dependency' or 'needs_input'."
        )));
    }
    let outcome = store.block(&BlockRequest {
        task: id.clone(),
        reason: Some(reason),
        kind,
        expected_run: desk.run_of(&id),
    })?;
    let mut facts = facts! {
        "task_id": id,
        "run_id": outcome.run,
        "status": outcome.status.as_str(),
        "block_kind": outcome.kind.map(BlockKind::as_str),
    };
    if kind == Some(BlockKind::Dependency) && outcome.kind != kind {
        facts.insert(
            "note".to_owned(),
            "The card has no open parent, so it needs an answer from somebody.".into(),
        );
    }
    Ok(facts)
}

fn unblock(call: &Call<'_>) -> Result<Map<String, Value>, Refusal> {
    let id = named_task(call.args, "task_id").ok_or("task_id is empty.")?;
    let mut store = call.desk.open(call.args)?;
    let status = store.unblock(&id)?;
    Ok(facts! {"task_id": id, "status": status.as_str()})
}
