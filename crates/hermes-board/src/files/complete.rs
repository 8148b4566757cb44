//! Completing a card with everything that happens to its files: deliverables are kept first, the
//! card is completed, workspaces that nobody needs any more go last.

use crate::boards::BoardHome;
use crate::files::artifacts::keep_artifacts;
use crate::files::cleanup::remove_finished_workspaces;
use crate::model::TaskId;
use crate::store::{
    BoardStore, CheckOutcome, CompleteOutcome, Completed, Completion, FailurePolicy,
};
use crate::{Error, Result};

/// Completes a card. A card with checks is left as it is: see [`CompleteOutcome::NeedsChecks`].
pub fn complete_card(
    store: &mut dyn BoardStore,
    home: &BoardHome,
    id: &TaskId,
    completion: &Completion,
) -> Result<CompleteOutcome> {
    let task = store.task(id)?.ok_or_else(|| Error::unknown(id))?;
    let checks = store.checks(id)?;
    if !checks.is_empty() {
        return Ok(CompleteOutcome::NeedsChecks(checks));
    }
    let (completion, kept) = keep_artifacts(home, &task, completion)?;
    let outcome = store.complete(id, &completion)?;
    if let CompleteOutcome::Done(done) = &outcome {
        kept.keep();
        clean_up(home, done);
    }
    Ok(outcome)
}

/// Ends a round of checks; if all passed, the card is completed as by [`complete_card`].
pub fn finish_card_checks(
    store: &mut dyn BoardStore,
    home: &BoardHome,
    id: &TaskId,
    session: i64,
    completion: &Completion,
    policy: &FailurePolicy,
) -> Result<CheckOutcome> {
    let task = store.task(id)?.ok_or_else(|| Error::unknown(id))?;
    let (completion, kept) = keep_artifacts(home, &task, completion)?;
    let outcome = store.finish_checks(session, &completion, policy)?;
    if let CheckOutcome::Done(done) = &outcome {
        kept.keep();
        clean_up(home, done);
    }
    Ok(outcome)
}

fn clean_up(home: &BoardHome, done: &Completed) {
    // What cannot be removed is logged there and found by the next collection of garbage.
    remove_finished_workspaces(home, &done.finished_workspaces);
}
