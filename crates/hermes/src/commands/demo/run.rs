//! A demo while it runs: a dispatcher at work, a worker killed on purpose, and the state of the cards.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hermes_board::EventQuery;
use hermes_board::dispatch::Dispatcher;
use hermes_board::model::{Event, Status, TaskId};
use hermes_board::store::BoardStore;
use hermes_proc::{ProcessHandle, identity_of};

use super::script::Card;
use crate::commands::kanban::BoardSession;
use crate::error::{CommandError, Result};

/// How long a worker that is to be killed may work.
const UNTIL_KILL: Duration = Duration::from_millis(1200);
/// How long workers whose cards are finished may take to leave.
const LEAVING: Duration = Duration::from_secs(10);
const REAP_PAUSE: Duration = Duration::from_millis(50);
/// Events taken at a time.
const BATCH: u32 = 200;

/// A running demo.
pub(super) struct DemoRun<'a> {
    pub(super) session: BoardSession<'a>,
    dispatcher: Dispatcher,
    pub(super) cards: Vec<DemoCard>,
    seen_event: i64,
    began: Instant,
}

/// A card of the demo.
pub(super) struct DemoCard {
    pub(super) id: TaskId,
    pub(super) title: String,
    pub(super) assignee: String,
    pub(super) checks: usize,
    /// Since the beginning.
    pub(super) finished: Option<Duration>,
    kill: Kill,
}

/// What is to become of a card's worker.
enum Kill {
    No,
    /// As soon as it has worked for a while.
    Wanted(Option<Instant>),
    Done,
}

impl<'a> DemoRun<'a> {
    pub(super) fn new(
        session: BoardSession<'a>,
        dispatcher: Dispatcher,
        cards: &[Card],
        ids: &HashMap<String, TaskId>,
    ) -> Result<Self> {
        let played = cards.iter().filter_map(|card| {
            Some(DemoCard {
                id: ids.get(&card.key)?.clone(),
                title: card.title.clone(),
                assignee: card.assignee.clone(),
                checks: card.checks.len(),
                finished: None,
                kill: if card.kill {
                    Kill::Wanted(None)
                } else {
                    Kill::No
                },
            })
        });
        Ok(Self {
            cards: played.collect(),
            seen_event: session.store.latest_event_id()?,
            session,
            dispatcher,
            began: Instant::now(),
        })
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// One tick of the dispatcher; gives whether all cards are finished or blocked.
    pub(super) fn step(&mut self) -> Result<bool> {
        self.dispatcher.tick(&mut self.session.store)?;
        let elapsed = self.began.elapsed();
        let mut is_over = true;
        for card in &mut self.cards {
            let Some(task) = self.session.store.task(&card.id)? else {
                continue;
            };
            match task.status() {
                Status::Done | Status::Blocked | Status::Archived => {
                    card.finished.get_or_insert(elapsed);
                }
                Status::Running => {
                    is_over = false;
                    card.kill.kill_if_due(task.worker_pid)?;
                }
                _ => is_over = false,
            }
        }
        Ok(is_over)
    }

    /// Messages about what has happened since the last call.
    pub(super) fn messages(&mut self) -> Result<Vec<String>> {
        let query = EventQuery {
            after: self.seen_event,
            limit: Some(BATCH),
            ..EventQuery::default()
        };
        let events = self.session.store.events(&query)?;
        if let Some(last) = events.last() {
            self.seen_event = last.id;
        }
        let messages = events.iter().filter_map(|event| {
            let card = self.cards.iter().find(|card| card.id == event.task_id)?;
            message(event, card)
        });
        Ok(messages.collect())
    }

    /// Lets workers leave whose cards are finished, and ends those whose cards are not.
    pub(super) fn end(&mut self) -> Result<()> {
        let mut trouble = None;
        for card in &self.cards {
            if !is_running(&self.session, &card.id)? {
                continue;
            }
            let why = Some("the demo is over");
            let taken = self
                .dispatcher
                .reclaim(&mut self.session.store, &card.id, why);
            // Its worker may have finished it at the last moment.
            if let Err(error) = taken
                && is_running(&self.session, &card.id)?
            {
                trouble.get_or_insert(error);
            }
        }
        let deadline = Instant::now() + LEAVING;
        while self.dispatcher.reap() > 0 && Instant::now() < deadline {
            std::thread::sleep(REAP_PAUSE);
        }
        trouble.map_or(Ok(()), |error| Err(error.into()))
    }
}

fn is_running(session: &BoardSession<'_>, id: &TaskId) -> Result<bool> {
    let task = session.store.task(id)?;
    Ok(task.is_some_and(|task| task.status() == Status::Running))
}

impl Kill {
    /// Kills a worker that has worked long enough.
    fn kill_if_due(&mut self, pid: Option<i64>) -> Result<()> {
        let Self::Wanted(since) = self else {
            return Ok(());
        };
        let Some(pid) = pid.and_then(|pid| u32::try_from(pid).ok()) else {
            return Ok(());
        };
        let since = *since.get_or_insert_with(Instant::now);
        if since.elapsed() < UNTIL_KILL {
            return Ok(());
        }
        *self = Self::Done;
        let Some(identity) = identity_of(pid) else {
            return Ok(());
        };
        let killed = ProcessHandle::open(&identity)
            .and_then(|process| process.map_or(Ok(()), |process| process.kill()));
        killed.map_err(|error| CommandError::user(error.to_string()))
    }
}

/// The message about an event; `None` if it is not worth one.
fn message(event: &Event, card: &DemoCard) -> Option<String> {
    let title = &card.title;
    let who = &card.assignee;
    Some(match event.kind.as_str() {
        "spawned" => format!("▶ {title}: @{who} starts"),
        "check_failed" => format!(
            "✗ {title}: @{who} reported it done, but a check failed ({})",
            event.text("command").unwrap_or("-")
        ),
        "crashed" => format!("✗ {title}: its worker died; the card is ready again"),
        "protocol_violation" => format!("✗ {title}: its worker exited without reporting a result"),
        "spawn_failed" => format!("✗ {title}: {}", event.text("error").unwrap_or("no worker")),
        "gave_up" => format!("⊘ {title}: given up"),
        "blocked" => format!("⊘ {title}: {}", event.text("reason").unwrap_or("blocked")),
        "promoted" => format!("  {title}: its parents are done; it is ready"),
        "completed" => format!("✓ {title}: {}", event.text("summary").unwrap_or("done")),
        _ => return None,
    })
}
