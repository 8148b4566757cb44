//! With which code a turn ends the program.

use hermes_agent::{Outcome, TurnResult};

/// A failure that waiting may cure, told to whoever runs workers.
const TEMPORARY: u8 = 75;

/// The exit code of a turn.
pub(super) fn exit_code(result: &TurnResult, is_worker: bool) -> u8 {
    let is_quota = result
        .failure
        .as_ref()
        .is_some_and(|failure| failure.is_quota);
    match result.outcome {
        Outcome::Completed => 0,
        Outcome::Failed | Outcome::Partial if is_worker && is_quota => TEMPORARY,
        Outcome::Failed | Outcome::Partial | Outcome::Interrupted => 1,
    }
}
