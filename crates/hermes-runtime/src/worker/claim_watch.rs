//! Renews the claim of a worker while it works, and interrupts the worker when it has lost its card.
//!
//! A turn may wait for a model or a command longer than a claim lasts, so this runs on a thread of its
//! own. Requests and calls have timeouts of their own: a worker that hangs is ended by those.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hermes_agent::StopCheck;
use hermes_board::boards::Board;
use hermes_board::model::{Outcome, RunId, TaskId};
use hermes_board::store::{Applied, BoardStore};
use hermes_board::{BoardOptions, StoredBoard};
use hermes_proc::Wake;
use serde_json::Value;

/// Longest time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_mins(1);
/// How often the card is checked.
const CHECK: Duration = Duration::from_secs(1);
/// How long a tool of this worker may take to report that it has ended the attempt.
const OWN_REPORT: Duration = Duration::from_secs(30);

/// The attempt a worker was started for.
#[derive(Clone)]
pub(super) struct Attempt {
    pub(super) board: Board,
    pub(super) options: BoardOptions,
    pub(super) task: TaskId,
    pub(super) run: RunId,
    /// Text of the claim; without it there is a heartbeat and no claim to renew.
    pub(super) lock: Option<String>,
    pub(super) ttl_seconds: i64,
}

/// A running watch; ended by [`ClaimWatch::end`] or dropping it.
pub(crate) struct ClaimWatch {
    stop: Arc<Wake>,
    known: Arc<Known>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Known {
    /// Whether a tool of this worker has ended the attempt or learned that it is over.
    is_finished: AtomicBool,
    /// The message about a lost card.
    lost: OnceLock<String>,
}

impl ClaimWatch {
    /// Starts to watch. A lost card raises `interrupt`; `when_stuck` is called if the watch has not
    /// been
    /// ended `limit` later.
    pub(super) fn start(
        attempt: Attempt,
        interrupt: &Arc<Wake>,
        limit: Duration,
        when_stuck: Option<fn()>,
    ) -> std::io::Result<Self> {
        let mut watch = Self {
            stop: Arc::new(Wake::new()?),
            known: Arc::default(),
            thread: None,
        };
        let watcher = Watcher {
            attempt,
            stop: Arc::clone(&watch.stop),
            known: Arc::clone(&watch.known),
            interrupt: Arc::clone(interrupt),
            limit,
            when_stuck,
        };
        let thread = std::thread::Builder::new().name("claim".to_owned());
        watch.thread = Some(thread.spawn(move || watcher.run())?);
        Ok(watch)
    }

    /// The same check, which also reports to this watch when a tool ends the attempt.
    pub(crate) fn listening(&self, check: Box<dyn StopCheck>) -> Box<dyn StopCheck> {
        Box::new(Listening {
            check,
            known: Arc::clone(&self.known),
        })
    }

    /// Ends the watch. Gives the message about a lost card.
    pub(crate) fn end(mut self) -> Option<String> {
        self.halt();
        self.known.lost.get().cloned()
    }

    fn halt(&mut self) {
        self.stop.raise();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the watch over the claim panicked");
        }
    }
}

impl Drop for ClaimWatch {
    fn drop(&mut self) {
        self.halt();
    }
}

/// Whether the result of a tool ends the attempt.
pub(super) fn ends_attempt(tool: &str, result: &Value) -> bool {
    let says = |name: &str| result.get(name) == Some(&Value::Bool(true));
    let ends = tool == "kanban_complete" || tool == "kanban_block";
    (ends && says("ok")) || (tool.starts_with("kanban_") && says("attempt_over"))
}

struct Listening {
    check: Box<dyn StopCheck>,
    known: Arc<Known>,
}

impl StopCheck for Listening {
    fn note(&mut self, tool: &str, result: &Value) {
        if ends_attempt(tool, result) {
            self.known.is_finished.store(true, Ordering::Release);
        }
        self.check.note(tool, result);
    }

    fn reminder(&mut self) -> Option<String> {
        self.check.reminder()
    }
}

struct Watcher {
    attempt: Attempt,
    stop: Arc<Wake>,
    known: Arc<Known>,
    interrupt: Arc<Wake>,
    limit: Duration,
    when_stuck: Option<fn()>,
}

/// The state of the attempt on the board.
enum AttemptState {
    Current,
    /// Over, with its outcome if that is known.
    Over(Option<Outcome>),
}

impl Watcher {
    fn run(&self) {
        let interval = (self.ttl() / 3).clamp(CHECK, HEARTBEAT);
        let mut store = None;
        let mut renewed_at: Option<Instant> = None;
        let mut over_since: Option<Instant> = None;
        loop {
            let is_due = renewed_at.is_none_or(|at| at.elapsed() >= interval);
            match self.check(&mut store, is_due) {
                Ok(AttemptState::Current) => {
                    if is_due {
                        renewed_at = Some(Instant::now());
                    }
                }
                Ok(AttemptState::Over(_)) if self.known.is_finished.load(Ordering::Acquire) => {
                    return;
                }
                Ok(AttemptState::Over(outcome)) => {
                    let since = *over_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= own_report_time(outcome) {
                        return self.report_lost(outcome);
                    }
                }
                Err(error) => {
                    // The claim stands until the board says otherwise.
                    tracing::warn!(%error, "the card could not be read");
                    store = None;
                }
            }
            if self.stop.wait(CHECK) {
                return;
            }
        }
    }

    fn ttl(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.attempt.ttl_seconds).unwrap_or(0))
    }

    fn check(
        &self,
        store: &mut Option<StoredBoard>,
        is_due: bool,
    ) -> hermes_board::Result<AttemptState> {
        let Attempt { task, run, .. } = &self.attempt;
        let store = match store {
            Some(store) => store,
            None => store.insert(StoredBoard::open(
                &self.attempt.board,
                &self.attempt.options,
            )?),
        };
        let is_ours = if is_due {
            let Attempt {
                lock, ttl_seconds, ..
            } = &self.attempt;
            store.keep_alive(task, *run, lock.as_deref(), *ttl_seconds)? == Applied::Yes
        } else {
            let card = store.task(task)?;
            card.is_some_and(|card| card.current_run_id == Some(*run))
        };
        if is_ours {
            return Ok(AttemptState::Current);
        }
        let ended = store.run(*run)?;
        Ok(AttemptState::Over(ended.and_then(|run| run.ended_how())))
    }

    /// Interrupts the worker: another one may be at work on the card by now.
    fn report_lost(&self, outcome: Option<Outcome>) {
        let Attempt { task, run, .. } = &self.attempt;
        let outcome = outcome.map_or("outcome unknown", Outcome::as_str);
        let text = format!(
            "lost the claim on {task}: attempt {run} is over ({outcome}); this worker stops"
        );
        tracing::warn!("{text}");
        if self.known.lost.set(text).is_err() {
            return;
        }
        self.interrupt.raise();
        if !self.stop.wait(self.limit) {
            tracing::warn!("the worker did not end in time");
            if let Some(when_stuck) = self.when_stuck {
                when_stuck();
            }
        }
    }
}

/// How long to wait for a report of this worker's own tools: they may have written this outcome.
fn own_report_time(outcome: Option<Outcome>) -> Duration {
    match outcome {
        Some(Outcome::Completed | Outcome::Blocked | Outcome::CheckFailed | Outcome::GaveUp) => {
            OWN_REPORT
        }
        _ => Duration::ZERO,
    }
}
