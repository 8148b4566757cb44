//! The card a worker has claimed: reminders before the worker stops, and the record it leaves for the
//! dispatcher.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes_agent::{ExitReason, StopCheck, TurnResult};
use hermes_board::DispatchFlags;
use hermes_board::boards::Board;
use hermes_board::dispatch::write_exit_record;
use hermes_board::files::{bring_attachments, tell_log};
use hermes_board::model::{RunId, Status, Task, WorkerExit};
use hermes_board::store::{BlockRequest, BoardStore, FailurePolicy};
use hermes_board::{BoardOptions, Retrying, StoredBoard, WorkerVariables};
use hermes_config::vars;
use hermes_proc::Wake;
use hermes_tools::{ImageReference, has_image_ending, images_in};
use serde_json::Value;

use super::claim_watch::{Attempt, ClaimWatch, ends_attempt};
use crate::board_settings::dispatch_settings;
use crate::context::Context;
use crate::error::Result;

/// How often a worker is reminded of its open card.
const REMINDERS: u32 = 2;

/// Most turns in goal mode unless the dispatcher says otherwise.
const GOAL_TURNS: u64 = 20;

/// Time for the tools of a worker that is asked to end.
const TOOL_GRACE: Duration = Duration::from_millis(1_500);
/// Time for everything after its tools.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// How long the server of the board is waited for when the end of the worker is recorded.
const SERVER_WAIT: Duration = Duration::from_mins(2);

const REMINDER: &str = "Your card is still open: you have called neither kanban_complete nor \
    kanban_block, and an answer in text ends nothing. If the work is done and checked, call \
    kanban_complete with a summary. If you cannot finish it, call kanban_block with the reason. If \
    there is work left, go on with it now.";

/// The worker that a conversation is, with its card.
pub(crate) struct Worker {
    pub(super) card: WorkerVariables,
    pub(super) board: Board,
    pub(super) options: BoardOptions,
    ttl_seconds: i64,
    policy: FailurePolicy,
}

impl Worker {
    /// The worker that the environment describes; `None` outside of workers.
    pub(crate) fn from_context(context: &Context) -> Result<Option<Self>> {
        let Some(card) = WorkerVariables::read(&context.env) else {
            return Ok(None);
        };
        let home = crate::board_settings::board_home(context);
        let settings = dispatch_settings(context, &DispatchFlags::default());
        Ok(Some(Self {
            card,
            board: home.select(None)?,
            options: BoardOptions {
                retrying: Retrying::new(SERVER_WAIT, |pause| {
                    std::thread::sleep(pause);
                    false
                }),
                ..settings.board_options(&context.env)
            },
            ttl_seconds: settings.limits.claim_ttl_seconds,
            policy: FailurePolicy::with_limit(settings.limits.failure_limit),
        }))
    }

    /// Turn limit of goal mode; `None` if the card is not worked on in goal mode.
    pub(crate) fn goal_turns(&self) -> Option<u64> {
        let turns = self.card.goal_max_turns.unwrap_or(GOAL_TURNS);
        self.card.goal_mode.then_some(turns)
    }

    /// How long a worker that is asked to end may take.
    pub(crate) fn end_limit(context: &Context) -> Duration {
        let grace = context.env.text(&vars::HERMES_SIGTERM_GRACE);
        let grace = grace.and_then(|text| text.trim().parse().ok());
        let grace = grace.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        grace.unwrap_or(TOOL_GRACE).saturating_add(CLOSE_LIMIT)
    }

    /// Renews the claim from now on; `None` for a worker without an attempt. A lost card raises
    /// `interrupt`; `when_stuck` is called if the watch has not been ended `limit` later.
    pub(crate) fn watch_claim(
        &self,
        interrupt: &Arc<Wake>,
        limit: Duration,
        when_stuck: Option<fn()>,
    ) -> Option<ClaimWatch> {
        let attempt = Attempt {
            board: self.board.clone(),
            // The watch looks again by itself.
            options: BoardOptions {
                retrying: Retrying::default(),
                ..self.options.clone()
            },
            task: self.card.task.clone(),
            run: self.card.run?,
            lock: self.card.claim_lock.clone(),
            ttl_seconds: self.ttl_seconds,
        };
        ClaimWatch::start(attempt, interrupt, limit, when_stuck)
            .inspect_err(|error| tracing::warn!(%error, "the claim is not renewed"))
            .ok()
    }

    /// Reminds the worker of its open card before it stops.
    pub(crate) fn stop_check(&self) -> Box<dyn StopCheck> {
        Box::new(CardCheck {
            is_over: false,
            left: if self.card.reminders { REMINDERS } else { 0 },
        })
    }

    /// Images that the text of the card refers to, then those that are attached to it.
    pub(crate) fn images(&self, user_home: &Path) -> Vec<ImageReference> {
        let read = StoredBoard::open(&self.board, &self.options).and_then(|store| {
            let task = store.task(&self.card.task)?;
            Ok((task, bring_attachments(&store, &self.card.task)?))
        });
        let (task, attachments) = match read {
            Ok((Some(task), attachments)) => (task, attachments),
            Ok((None, _)) => return Vec::new(),
            Err(error) => {
                tracing::warn!(%error, "the card was not read for its images");
                return Vec::new();
            }
        };
        let body = task.body.unwrap_or_default();
        let mut found = images_in(&body, user_home, &|path| path.is_file());
        for brought in attachments {
            if let Some(problem) = brought.problem {
                tracing::warn!(%problem, "an attachment of the card is not here");
                continue;
            }
            let path = brought.attachment.stored_path;
            if has_image_ending(&path.to_string_lossy()) {
                let image = ImageReference::File(path);
                if !found.contains(&image) {
                    found.push(image);
                }
            }
        }
        found
    }

    /// The card, while it is running and this attempt is the current one.
    pub(crate) fn open_card(&self) -> Option<Task> {
        let card = StoredBoard::open(&self.board, &self.options)
            .and_then(|store| store.task(&self.card.task));
        match card {
            Ok(card) => card.filter(|card| {
                let is_ours = self.card.run.is_none() || card.current_run_id == self.card.run;
                card.status() == Status::Running && is_ours
            }),
            Err(error) => {
                tracing::warn!(%error, "the card was not read");
                None
            }
        }
    }

    /// Blocks the card, for a person to look at.
    pub(crate) fn block(&self, reason: String) {
        hermes_telemetry::best_effort("block the card", || {
            let mut store = StoredBoard::open(&self.board, &self.options)?;
            store
                .block(&BlockRequest {
                    task: self.card.task.clone(),
                    reason: Some(reason),
                    kind: None,
                    expected_run: self.card.run,
                })
                .map(drop)
        });
    }

    /// Records the end of the worker: an exhausted budget on the board, the exit code in a file.
    pub(crate) fn finish(&self, result: Option<&TurnResult>, code: u8) {
        let Some(run) = self.card.run else { return };
        if let Some(result) =
            result.filter(|result| result.exit_reason == ExitReason::MaxIterations)
        {
            hermes_telemetry::best_effort("record the exhausted budget", || {
                self.record_exhausted_budget(run, result)
            });
        }
        hermes_telemetry::best_effort("record the end of the worker", || {
            let exit = WorkerExit::Code(i32::from(code));
            let now = jiff::Timestamp::now().as_second();
            write_exit_record(&self.board, &self.card.task, run, exit, now).map(drop)
        });
        if self.board.server.is_some() {
            // No dispatcher need be running on this machine.
            hermes_telemetry::best_effort("tell other machines what the worker printed", || {
                let store = StoredBoard::open(&self.board, &self.options)?;
                tell_log(&store, &self.card.task, run)
            });
        }
    }

    fn record_exhausted_budget(&self, run: RunId, result: &TurnResult) -> hermes_board::Result<()> {
        let mut store = StoredBoard::open(&self.board, &self.options)?;
        let used = i64::try_from(result.api_calls).unwrap_or(i64::MAX);
        let most = i64::from(result.max_iterations);
        store
            .record_budget_exhausted(&self.card.task, run, used, most, &self.policy)
            .map(drop)
    }
}

/// Reminds a worker of its open card, a few times.
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
    fn open_card_gives_two_reminders() {
        let mut check = check();
        check.note("kanban_show", &json!({"ok": true}));
        check.note("kanban_complete", &json!({"error": "a summary is missing"}));
        let reminded: Vec<bool> = (0..4).map(|_| check.reminder().is_some()).collect();
        assert_eq!(reminded, [true, true, false, false]);
    }

    #[test]
    fn finished_or_lost_card_gives_no_reminder() {
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
