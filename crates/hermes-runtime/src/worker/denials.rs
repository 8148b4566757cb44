//! What a worker was refused, told to everybody who looks: in the worker's log, on the card and in the
//! log of the profile.

use std::sync::Arc;

use hermes_board::boards::Board;
use hermes_board::model::{RunId, TaskId};
use hermes_board::{BoardOptions, StoredBoard};

use super::Worker;
use crate::context::Context;
use crate::person::Person;

/// Tells of commands that a worker was refused.
pub(crate) struct DenialLog {
    board: Board,
    options: BoardOptions,
    task: TaskId,
    run: Option<RunId>,
    person: Arc<dyn Person>,
}

impl DenialLog {
    /// The log of the worker that the environment describes; `None` outside of workers.
    pub(crate) fn of_worker(context: &Context, person: &Arc<dyn Person>) -> Option<Self> {
        // A worker whose board cannot be found does not get as far as running commands.
        let worker = Worker::from_context(context).ok().flatten()?;
        Some(Self {
            task: worker.card.task.clone(),
            run: worker.card.run,
            board: worker.board,
            options: worker.options,
            person: Arc::clone(person),
        })
    }

    /// Tells of a command that was refused. Secrets in it have been masked.
    pub(crate) fn note(&self, command: &str, reason: &str) {
        tracing::warn!(task = self.task.as_str(), command, reason, "command denied");
        self.person.notify(&format!("Denied ({reason}): {command}"));
        let Some(run) = self.run else { return };
        hermes_telemetry::best_effort("note a denied command on the card", || {
            let mut store = StoredBoard::open(&self.board, &self.options)?;
            store
                .note_denied(&self.task, run, command, reason)
                .map(drop)
        });
    }
}
