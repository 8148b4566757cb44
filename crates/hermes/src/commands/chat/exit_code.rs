//! The exit code of a turn.

use hermes_agent::{TurnOutcome, TurnResult};

/// A failure that waiting may cure (EX_TEMPFAIL), for the dispatcher of workers.
const TEMPORARY: u8 = 75;

/// The exit code of a turn.
pub(super) fn exit_code(result: &TurnResult, is_worker: bool) -> u8 {
    let is_quota = result
        .failure
        .as_ref()
        .is_some_and(|failure| failure.is_quota);
    match result.outcome {
        TurnOutcome::Completed => 0,
        TurnOutcome::Failed | TurnOutcome::Partial if is_worker && is_quota => TEMPORARY,
        TurnOutcome::Failed | TurnOutcome::Partial | TurnOutcome::Interrupted => 1,
    }
}
