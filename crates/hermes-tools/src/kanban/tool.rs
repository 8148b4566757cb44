//! The common shape of the tools of the board: a call, its answer, and what refuses it.

use std::sync::Arc;
use std::time::Duration;

use hermes_board::model::{Run, RunId, Task, TaskId};
use hermes_board::store::BoardStore;
use hermes_board::{BoardOptions, Error, Retrying, StoredBoard};
use hermes_secret::{Redactor, Sink};
use serde_json::{Value, json};

use super::access::BoardAccess;
use crate::argument::{Argument, text};
use crate::result::error;
use crate::tool::{CallContext, Tool, ToolSpec};

/// The fields that all tools of the board share.
pub(super) const KANBAN: ToolSpec = ToolSpec {
    toolset: "kanban",
    ..ToolSpec::DEFAULT
};

pub(super) const BOARD: Argument =
    Argument::text("board", "Slug of the board; the current one if left out.");

/// Tools for profiles that manage many cards, and not for workers.
const FOR_ORCHESTRATORS: &[&str] = &["kanban_list", "kanban_unblock"];

/// How often a report whose answer got lost is made again.
const MOST_LOST_ANSWERS: u32 = 5;

/// The fields of an answer, or why the call was refused.
pub(super) type BoardAnswer = Result<Value, BoardRefusal>;

pub(super) struct BoardCall<'c> {
    pub(super) access: &'c BoardAccess,
    pub(super) args: &'c Value,
    pub(super) context: &'c CallContext,
}

impl BoardCall<'_> {
    /// A text argument, masked for the board; a blank one counts as none.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let text = self.args[name]
            .as_str()
            .filter(|text| !text.trim().is_empty())?;
        Some(self.redactor().redact(text).into_owned())
    }

    /// Masks what is stored on the board, where others read it for a long time: values after the
    /// name of a secret are masked too.
    pub(super) fn redactor(&self) -> Redactor {
        self.context.redactor.for_sink(Sink::Variables)
    }

    /// Opens the board that the call is about.
    pub(super) fn open(&self) -> Result<StoredBoard, BoardRefusal> {
        let board = self.access.home.select(self.args["board"].as_str())?;
        let mut store = StoredBoard::open(&board, &self.options())?;
        store.fence(self.access.worker());
        Ok(store)
    }

    /// A worker waits for a server that went away as long as its claim may last: its work is not lost
    /// because the board cannot be told at once.
    fn options(&self) -> BoardOptions {
        let mut options = self.access.options.clone();
        if self.access.worker().is_some() {
            let seconds = u64::try_from(self.access.claim_ttl_seconds).unwrap_or(0);
            let interrupt = Arc::clone(&self.context.interrupt);
            options.retrying = Retrying::new(Duration::from_secs(seconds), move |pause| {
                interrupt.wait(pause)
            });
        }
        options
    }

    /// The card named in a required argument.
    pub(super) fn named_task(&self, name: &str) -> Result<TaskId, BoardRefusal> {
        let id = text(self.args, name).ok_or_else(|| format!("{name} is empty."))?;
        Ok(TaskId::from(id))
    }

    /// The card that the call reads: any, the worker's own if none is named.
    pub(super) fn any_task(&self) -> Result<TaskId, BoardRefusal> {
        let own = self.access.worker().map(|worker| &worker.task);
        let named = text(self.args, "task_id").map(TaskId::from);
        Ok(named
            .or_else(|| own.cloned())
            .ok_or("task_id is required: this conversation has no card of its own.")?)
    }

    /// The card that the call changes, opened for it: a worker may change no other than its own.
    pub(super) fn own_task(&self, action: &'static str) -> Result<OwnTask, BoardRefusal> {
        let id = self.any_task()?;
        let store = self.open()?;
        let caller = self.access.caller(&store)?;
        caller.may_change(&id, action)?;
        let run = caller.run_of(&id);
        Ok(OwnTask { id, run, store })
    }
}

impl OwnTask {
    /// Ends the attempt of a worker, once. When the answer of the server got lost, the attempt itself
    /// tells whether it has ended as `is_ours` says: then the result is `None`.
    pub(super) fn end_attempt<T>(
        &mut self,
        is_ours: impl Fn(&Run) -> bool,
        end: impl Fn(&mut StoredBoard) -> hermes_board::Result<T>,
    ) -> Result<Option<T>, BoardRefusal> {
        for _ in 0..MOST_LOST_ANSWERS {
            match (end(&mut self.store), self.run) {
                (Err(error), Some(run)) if error.is_answer_lost() => {
                    tracing::warn!(card = %self.id, %error, "a report is repeated unless it counted");
                    if self.store.run(run)?.is_some_and(|run| is_ours(&run)) {
                        return Ok(None);
                    }
                }
                (done, _) => return Ok(Some(done?)),
            }
        }
        Ok(Some(end(&mut self.store)?))
    }
}

/// A card that a call may change.
pub(super) struct OwnTask {
    pub(super) id: TaskId,
    /// The attempt of the worker that calls.
    pub(super) run: Option<RunId>,
    pub(super) store: StoredBoard,
}

pub(super) fn existing(store: &StoredBoard, id: &TaskId) -> Result<Task, BoardRefusal> {
    let found = store.task(id)?;
    Ok(found.ok_or_else(|| format!("no such card: '{id}'"))?)
}

/// The result of a call that was refused: a sentence and further fields.
#[derive(Debug)]
pub(super) struct BoardRefusal(Value);

impl BoardRefusal {
    pub(super) fn with(mut self, name: &str, field: impl Into<Value>) -> Self {
        self.0[name] = field.into();
        self
    }
}

impl From<&str> for BoardRefusal {
    fn from(message: &str) -> Self {
        Self(error(message))
    }
}

impl From<String> for BoardRefusal {
    fn from(message: String) -> Self {
        Self(error(message))
    }
}

impl From<Error> for BoardRefusal {
    fn from(error: Error) -> Self {
        // Other hints are about the command line, which agents are not to use.
        let hint = match &error {
            Error::ForeignCard { asked, .. } => Some(format!(
                "use kanban_comment on {asked} for what matters there, or kanban_create for new work"
            )),
            Error::StaleRun { .. }
            | Error::PhantomCards { .. }
            | Error::Artifact { .. }
            | Error::ForeignBoard { .. }
            | Error::NotForWorkers { .. }
            | Error::NotForAgents { .. }
            | Error::Workspace(_)
            | Error::ToolsetsAsSkills { .. }
            | Error::SkillWithComma { .. }
            | Error::BadAssignee { .. }
            | Error::ChecksInProgress { .. } => error.hint(),
            _ => None,
        };
        let refusal = match hint {
            Some(hint) => Self::from(format!("{error}; {hint}")),
            None => Self::from(error.to_string()),
        };
        match &error {
            Error::PhantomCards { phantom, .. } => {
                let ids: Vec<&str> = phantom.iter().map(TaskId::as_str).collect();
                refusal.with("phantom_cards", ids)
            }
            Error::StaleRun { .. } => refusal.with("attempt_over", true),
            _ => refusal,
        }
    }
}

pub(super) struct KanbanTool {
    pub(super) access: Arc<BoardAccess>,
    pub(super) spec: &'static ToolSpec<'static>,
    pub(super) run: fn(&BoardCall<'_>) -> BoardAnswer,
}

impl KanbanTool {
    /// Why a worker must not use it, if so.
    fn kept_from_workers(&self) -> Option<&'static str> {
        let kept = FOR_ORCHESTRATORS.contains(&self.spec.name) && self.access.worker().is_some();
        kept.then_some("workers manage their own card only")
    }
}

impl Tool for KanbanTool {
    fn spec(&self) -> ToolSpec<'_> {
        *self.spec
    }

    fn unavailable(&self, _: &CallContext) -> Option<String> {
        if let Some(reason) = self.kept_from_workers() {
            return Some(reason.to_owned());
        }
        let wanted = self.access.worker().is_some() || self.access.is_orchestrator;
        (!wanted).then(|| {
            "this process is not a worker, and the setting `toolsets` does not name kanban"
                .to_owned()
        })
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        if let Some(reason) = self.kept_from_workers() {
            return error(format!(
                "{} is not available here: {reason}.",
                self.spec.name
            ));
        }
        let answer = (self.run)(&BoardCall {
            access: &self.access,
            args,
            context,
        });
        match answer {
            Ok(fields) => {
                let mut result = json!({"ok": true});
                if let (Value::Object(result), Value::Object(fields)) = (&mut result, fields) {
                    result.extend(fields);
                }
                result
            }
            Err(BoardRefusal(result)) => result,
        }
    }
}
