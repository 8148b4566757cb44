//! A conversation that works on a card of the board: what it must not forget, and what it leaves for
//! the dispatcher.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes_agent::{ExitReason, StopCheck, TurnResult};
use hermes_board::boards::{Board, BoardHome};
use hermes_board::dispatch::{DispatchFlags, write_exit_record};
use hermes_board::model::{RunId, Status, Task, TaskId, WorkerExit};
use hermes_board::store::{BlockRequest, BoardStore, FailurePolicy};
use hermes_board::{BoardOptions, SqliteBoard};
use hermes_config::vars;
use hermes_proc::Wake;
use hermes_tools::{ImageReference, images_in};
use serde_json::Value;

use super::claim_watch::{Attempt, ClaimWatch, ends_attempt};
use crate::board_settings::dispatch_settings;
use crate::context::Context;
use crate::error::Result;

/// How often a worker is reminded of its card.
const REMINDERS: u32 = 2;

/// For the tools of a worker that is asked to end.
const GRACE: Duration = Duration::from_millis(1_500);
/// For everything after that.
const DEADMAN: Duration = Duration::from_secs(2);

const REMINDER: &str = "Your card is still open: you have called neither kanban_complete nor \
    kanban_block, and an answer in text ends nothing. If the work is done and checked, call \
    kanban_complete with a summary. If you cannot finish it, call kanban_block with the reason. If \
    there is work left, go on with it now.";

/// The card this process works on.
pub(super) struct Worker {
    task: TaskId,
    run: Option<RunId>,
    lock: Option<String>,
    board: Board,
    options: BoardOptions,
    ttl_seconds: i64,
    policy: FailurePolicy,
    reminders: bool,
}

impl Worker {
    /// The worker this process is, if it is one.
    pub(super) fn of(context: &Context) -> Result<Option<Self>> {
        let home = BoardHome::resolve(&context.env, &context.location);
        let Some(task) = home.worker_task().cloned() else {
            return Ok(None);
        };
        let settings = dispatch_settings(context, &DispatchFlags::default());
        let run = context.env.text(&vars::HERMES_KANBAN_RUN_ID);
        let nudge = context.env.text(&vars::HERMES_KANBAN_STOP_NUDGE);
        let is_off = nudge.is_some_and(|word| {
            ["0", "false", "no", "off"]
                .iter()
                .any(|off| word.trim().eq_ignore_ascii_case(off))
        });
        Ok(Some(Self {
            task,
            run: run.and_then(|run| run.trim().parse().ok()).map(RunId),
            lock: context
                .env
                .text(&vars::HERMES_KANBAN_CLAIM_LOCK)
                .map(str::to_owned),
            board: home.select(None)?,
            options: settings.board_options(&context.env),
            ttl_seconds: settings.limits.claim_ttl_seconds,
            policy: FailurePolicy::with_limit(settings.limits.failure_limit),
            reminders: !is_off,
        }))
    }

    /// How long a worker that is asked to end may take: a moment for its tools, and then two seconds.
    pub(super) fn time_to_end(context: &Context) -> Duration {
        let grace = context.env.text(&vars::HERMES_SIGTERM_GRACE);
        let grace = grace.and_then(|text| text.trim().parse().ok());
        let grace = grace.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        grace.unwrap_or(GRACE).saturating_add(DEADMAN)
    }

    /// Keeps the claim from now on. A worker that does not know its attempt has none to keep.
    pub(super) fn watch(&self, interrupt: &Arc<Wake>, limit: Duration) -> Option<ClaimWatch> {
        let attempt = Attempt {
            board: self.board.clone(),
            options: self.options.clone(),
            task: self.task.clone(),
            run: self.run?,
            lock: self.lock.clone(),
            ttl_seconds: self.ttl_seconds,
        };
        ClaimWatch::begin(attempt, interrupt, limit)
            .inspect_err(|error| tracing::warn!(%error, "nobody keeps the claim"))
            .ok()
    }

    /// The last act of a worker whose conversation could not be opened or broke off.
    pub(super) fn failed(context: &Context, code: u8) {
        // What keeps a worker from knowing its card is the error that is told.
        if let Ok(Some(worker)) = Self::of(context) {
            worker.finish(None, code);
        }
    }

    /// What keeps the worker from stopping too early.
    pub(super) fn stop_check(&self) -> Box<dyn StopCheck> {
        Box::new(CardCheck {
            is_over: false,
            left: if self.reminders { REMINDERS } else { 0 },
        })
    }

    /// Pictures that the text of the card refers to.
    pub(super) fn images(&self, user_home: &Path) -> Vec<ImageReference> {
        let body = SqliteBoard::open(&self.board, &self.options)
            .and_then(|store| store.task(&self.task))
            .map(|task| task.and_then(|task| task.body));
        match body {
            Ok(Some(body)) => images_in(&body, user_home, &|path| path.is_file()),
            Ok(None) => Vec::new(),
            Err(error) => {
                tracing::warn!(%error, "the card was not read for its images");
                Vec::new()
            }
        }
    }

    /// The card, as long as this attempt works on it.
    pub(super) fn open_card(&self) -> Option<Task> {
        let card =
            SqliteBoard::open(&self.board, &self.options).and_then(|store| store.task(&self.task));
        match card {
            Ok(card) => card.filter(|card| {
                let is_ours = self.run.is_none() || card.current_run_id == self.run;
                card.status() == Status::Running && is_ours
            }),
            Err(error) => {
                tracing::warn!(%error, "the card was not read");
                None
            }
        }
    }

    /// Blocks the card, for a person to look at.
    pub(super) fn block(&self, reason: String) {
        hermes_telemetry::best_effort("block the card", || {
            let mut store = SqliteBoard::open(&self.board, &self.options)?;
            store
                .block(&BlockRequest {
                    task: self.task.clone(),
                    reason: Some(reason),
                    kind: None,
                    expected_run: self.run,
                })
                .map(drop)
        });
    }

    /// The last act: a used-up budget goes on the board, and how it ended into a file.
    pub(super) fn finish(&self, result: Option<&TurnResult>, code: u8) {
        let Some(run) = self.run else { return };
        if let Some(result) =
            result.filter(|result| result.exit_reason == ExitReason::MaxIterations)
        {
            hermes_telemetry::best_effort("record the used-up budget", || {
                self.budget_used(run, result)
            });
        }
        hermes_telemetry::best_effort("record the end of the worker", || {
            let exit = WorkerExit::Code(i32::from(code));
            let now = jiff::Timestamp::now().as_second();
            write_exit_record(&self.board, &self.task, run, exit, now).map(drop)
        });
    }

    fn budget_used(&self, run: RunId, result: &TurnResult) -> hermes_board::Result<()> {
        let mut store = SqliteBoard::open(&self.board, &self.options)?;
        let used = i64::try_from(result.api_calls).unwrap_or(i64::MAX);
        let most = i64::from(result.max_iterations);
        store
            .record_budget_exhausted(&self.task, run, used, most, &self.policy)
            .map(drop)
    }
}

/// Reminds a worker of its card, a few times.
struct CardCheck {
    is_over: bool,
    left: u32,
}

impl StopCheck for CardCheck {
    fn note(&mut self, tool: &str, result: &Value) {
        self.is_over |= ends_attempt(tool, result);
    }

    fn reminder(&mut self) -> Option<String> {
        if self.is_over || self.left == 0 {
            return None;
        }
        self.left -= 1;
        Some(REMINDER.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check() -> CardCheck {
        CardCheck {
            is_over: false,
            left: REMINDERS,
        }
    }

    #[test]
    fn a_worker_is_reminded_twice_and_no_more() {
        let mut check = check();
        check.note("kanban_show", &json!({"ok": true}));
        check.note("kanban_complete", &json!({"error": "a summary is missing"}));
        let said: Vec<bool> = (0..4).map(|_| check.reminder().is_some()).collect();
        assert_eq!(said, [true, true, false, false]);
    }

    #[test]
    fn a_card_that_is_finished_or_lost_needs_no_reminder() {
        for (tool, result) in [
            ("kanban_complete", json!({"ok": true})),
            ("kanban_block", json!({"ok": true})),
            (
                "kanban_heartbeat",
                json!({"error": "x", "attempt_over": true}),
            ),
        ] {
            let mut check = check();
            check.note(tool, &result);
            assert_eq!(check.reminder(), None, "{tool}");
        }
    }
}
