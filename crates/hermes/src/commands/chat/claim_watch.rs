//! Keeps the claim of a worker as long as it works, and stops it when its card was taken away.
//!
//! A turn may wait for a model or a command longer than a claim lasts, so this looks beside it. Every
//! request and every call has a limit of its own: a worker that hangs for good is ended by those.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hermes_agent::StopCheck;
use hermes_board::boards::Board;
use hermes_board::model::{Outcome, RunId, TaskId};
use hermes_board::store::{Applied, BoardStore};
use hermes_board::{BoardOptions, SqliteBoard};
use hermes_proc::{EndSignal, Wake};
use serde_json::Value;

/// Longest time between two signs of life.
const BEAT: Duration = Duration::from_mins(1);
/// How often the card is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long a tool of our own that has finished the card may take to say so.
const OWN_WORD: Duration = Duration::from_secs(30);

/// The attempt a worker was started for.
#[derive(Clone)]
pub(super) struct Attempt {
    pub(super) board: Board,
    pub(super) options: BoardOptions,
    pub(super) task: TaskId,
    pub(super) run: RunId,
    /// Text of the claim; without it there is a heartbeat, and nothing to prolong.
    pub(super) lock: Option<String>,
    pub(super) ttl_seconds: i64,
}

/// Watches until it is ended or dropped.
pub(super) struct ClaimWatch {
    stop: Arc<Wake>,
    known: Arc<Known>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Known {
    /// Whether a tool of this process has finished the card or heard that it is lost.
    is_finished: AtomicBool,
    /// What is said of a card that was taken away.
    lost: OnceLock<String>,
}

impl ClaimWatch {
    /// Begins to watch. A card that is taken away raises `interrupt`, and after `limit` the process
    /// ends whatever it does.
    pub(super) fn begin(
        attempt: Attempt,
        interrupt: &Arc<Wake>,
        limit: Duration,
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
        };
        let thread = std::thread::Builder::new().name("claim".to_owned());
        watch.thread = Some(thread.spawn(move || watcher.run())?);
        Ok(watch)
    }

    /// A check that also tells this watch what the tools of the worker did to its card.
    pub(super) fn listening(&self, check: Box<dyn StopCheck>) -> Box<dyn StopCheck> {
        Box::new(Listening {
            check,
            known: Arc::clone(&self.known),
        })
    }

    /// Ends the watch. Gives what is said of a card that was taken away.
    pub(super) fn end(mut self) -> Option<String> {
        self.halt();
        self.known.lost.get().cloned()
    }

    fn halt(&mut self) {
        self.stop.raise();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the watch over the claim broke off");
        }
    }
}

impl Drop for ClaimWatch {
    fn drop(&mut self) {
        self.halt();
    }
}

/// Whether an answer of a tool is the end of the attempt.
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
}

/// How the attempt stands.
enum Standing {
    Ours,
    /// It is over; how, if that is known.
    Over(Option<Outcome>),
}

impl Watcher {
    fn run(&self) {
        let beat = (self.ttl() / 3).clamp(LOOK, BEAT);
        let mut store = None;
        let mut beaten_at: Option<Instant> = None;
        let mut over_since: Option<Instant> = None;
        loop {
            let is_due = beaten_at.is_none_or(|at| at.elapsed() >= beat);
            match self.look(&mut store, is_due) {
                Ok(Standing::Ours) => {
                    if is_due {
                        beaten_at = Some(Instant::now());
                    }
                }
                Ok(Standing::Over(_)) if self.known.is_finished.load(Ordering::Acquire) => return,
                Ok(Standing::Over(how)) => {
                    let since = *over_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= patience(how) {
                        return self.give_up(how);
                    }
                }
                Err(error) => {
                    // A board that cannot be read for a moment takes no card away.
                    tracing::warn!(%error, "the card was not looked at");
                    store = None;
                }
            }
            if self.stop.wait(LOOK) {
                return;
            }
        }
    }

    fn ttl(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.attempt.ttl_seconds).unwrap_or(0))
    }

    fn look(
        &self,
        store: &mut Option<SqliteBoard>,
        is_due: bool,
    ) -> hermes_board::Result<Standing> {
        let Attempt { task, run, .. } = &self.attempt;
        let store = match store {
            Some(store) => store,
            None => store.insert(SqliteBoard::open(
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
            return Ok(Standing::Ours);
        }
        let ended = store.run(*run)?;
        Ok(Standing::Over(ended.and_then(|run| run.ended_how())))
    }

    /// Stops everything: somebody else may be at work on the card by now.
    fn give_up(&self, how: Option<Outcome>) {
        let Attempt { task, run, .. } = &self.attempt;
        let how = how.map_or("its end is not known", Outcome::as_str);
        let text =
            format!("{task} was taken away: attempt {run} is over ({how}); this worker stops");
        tracing::warn!("{text}");
        if self.known.lost.set(text).is_err() {
            return;
        }
        self.interrupt.raise();
        if !self.stop.wait(self.limit) {
            tracing::warn!("the worker did not come to its end in time");
            EndSignal::Terminate.obey();
        }
    }
}

/// Ends that a tool of our own may have written a moment ago are not somebody else's at once.
fn patience(how: Option<Outcome>) -> Duration {
    match how {
        Some(Outcome::Completed | Outcome::Blocked | Outcome::CheckFailed | Outcome::GaveUp) => {
            OWN_WORD
        }
        _ => Duration::ZERO,
    }
}
