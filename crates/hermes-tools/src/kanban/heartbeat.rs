//! `kanban_heartbeat`: a sign that long work goes on.

use hermes_board::store::{Applied, BoardStore};
use serde_json::{Map, Value};

use super::show::BOARD;
use super::verb::{Audience, Call, Refusal, Verb, facts};
use crate::argument::{ArgKind, Argument};

pub(super) const HEARTBEAT: Verb = Verb {
    name: "kanban_heartbeat",
    description: "Reports that you are still working on your card, so that it is not given to another \
                  worker. Call it every few minutes during long work, and at least once an hour.",
    arguments: &[
        Argument::optional("task_id", ArgKind::Text, "Your card; may be left out."),
        Argument::optional("note", ArgKind::Text, "Progress, in a few words."),
        BOARD,
    ],
    audience: Audience::All,
    run: heartbeat,
};

fn heartbeat(call: &Call<'_>) -> Result<Map<String, Value>, Refusal> {
    let desk = call.desk;
    let id = desk.own_task(call.args, "send a heartbeat for")?;
    let note = call.text("note");
    let mut store = desk.open(call.args)?;
    store.heartbeat(&id, note.as_deref(), desk.run_of(&id))?;
    // A worker without a claim of its own has nothing to extend; one whose card was reclaimed learns
    // it here and not after hours of work.
    let own = desk.worker.as_ref().filter(|worker| worker.task == id);
    if let Some(claim) = own.and_then(|worker| worker.claim_lock.as_deref())
        && store.extend_own_claim(&id, claim, desk.claim_ttl_seconds)? == Applied::LostRace
    {
        return Err(Refusal::from(format!(
            "{id} is claimed by somebody else now; stop, and leave the card to them."
        ))
        .with("attempt_over", true));
    }
    Ok(facts! {"task_id": id})
}
