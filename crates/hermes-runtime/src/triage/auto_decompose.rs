//! Splitting cards in triage without being asked, beside a dispatcher: a model takes minutes, so that
//! it works in a thread of its own and no tick waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hermes_agent::triage::{Triage, decompose};
use hermes_board::boards::{Board, BoardHome, BoardSlug, Listed};
use hermes_board::model::TaskId;
use hermes_board::{KanbanSettings, StoredBoard};
use hermes_proc::Wake;
use hermes_providers::{AuxiliaryModels, ModelOverrides};

use super::roster;
use crate::context::Context;

/// Author of what is done here.
const AUTHOR: &str = "auto-decomposer";
/// Pause before a card that could not be split is tried again; it doubles.
const FIRST_PAUSE: Duration = Duration::from_mins(5);
const MOST_PAUSE: Duration = Duration::from_hours(1);

/// Boards whose cards are split, and how.
pub struct DecomposeBoards<'a> {
    pub context: &'a Context,
    pub home: &'a BoardHome,
    /// The only board; all if not given.
    pub only: Option<&'a BoardSlug>,
    pub settings: &'a KanbanSettings,
    /// Least time between two rounds that do as much as they may.
    pub interval: Duration,
}

/// Splits cards in triage, some at a time.
pub struct AutoDecomposer {
    /// Raised when a round has ended.
    ended: Arc<Wake>,
    interrupt: Arc<Wake>,
    round: Option<JoinHandle<Vec<Attempt>>>,
    /// When the next round may begin.
    next_round: Option<Instant>,
    /// Cards that could not be split, when they are tried again, and the pause before that.
    failed: BTreeMap<Card, (Instant, Duration)>,
}

/// A card by its database and id.
type Card = (PathBuf, TaskId);

/// What became of one card.
struct Attempt {
    card: Card,
    failure: Option<String>,
}

impl AsFd for AutoDecomposer {
    /// Readable when a round has ended and [`AutoDecomposer::step`] should be called.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }
}

impl AutoDecomposer {
    /// One that has done nothing yet.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            ended: Arc::new(Wake::new()?),
            interrupt: Arc::new(Wake::new()?),
            round: None,
            next_round: None,
            failed: BTreeMap::new(),
        })
    }

    /// Begins a round if cards are due and none is on its way. Gives a sentence for each card that
    /// could not be split since the last call, and when to call again.
    pub fn step(&mut self, boards: &DecomposeBoards<'_>) -> (Vec<String>, Option<Duration>) {
        let now = Instant::now();
        let complaints = self.finished(now);
        let Some(most) = boards
            .settings
            .auto_decompose
            .filter(|_| self.round.is_none())
        else {
            return (complaints, None);
        };
        if let Some(at) = self.next_round.filter(|at| *at > now) {
            return (complaints, Some(at - now));
        }
        let (due, mut wait) = self.due(boards, now);
        if !due.is_empty() {
            let chosen: Vec<(Board, TaskId)> = due.into_iter().take(most).collect();
            self.next_round = (chosen.len() == most).then(|| now + boards.interval);
            if let Err(error) = self.begin(chosen, boards) {
                tracing::warn!(%error, "cards in triage are not split");
            }
            // The end of the round is signalled.
            wait = None;
        }
        (complaints, wait)
    }

    /// Whether a round is on its way.
    pub fn is_busy(&self) -> bool {
        self.round
            .as_ref()
            .is_some_and(|round| !round.is_finished())
    }

    /// Ends a round that is on its way.
    pub fn stop(&mut self) {
        self.interrupt.raise();
        if let Some(round) = self.round.take() {
            // What it could not do is done next time.
            drop(round.join());
        }
    }

    /// Takes the result of a round that has ended.
    fn finished(&mut self, now: Instant) -> Vec<String> {
        let Some(round) = self.round.take_if(|round| round.is_finished()) else {
            return Vec::new();
        };
        self.ended.clear();
        let mut complaints = Vec::new();
        for attempt in round.join().unwrap_or_default() {
            let Some(failure) = attempt.failure else {
                self.failed.remove(&attempt.card);
                continue;
            };
            complaints.push(format!("{} was not split: {failure}", attempt.card.1));
            let before = self.failed.get(&attempt.card).map(|(_, pause)| *pause);
            let pause = before.map_or(FIRST_PAUSE, |pause| (pause * 2).min(MOST_PAUSE));
            self.failed.insert(attempt.card, (now + pause, pause));
        }
        complaints
    }

    /// Cards to split now, and how long until there may be more.
    fn due(
        &self,
        boards: &DecomposeBoards<'_>,
        now: Instant,
    ) -> (Vec<(Board, TaskId)>, Option<Duration>) {
        let profiles: BTreeSet<String> = match roster(boards.context) {
            Ok(roster) => roster.profiles.into_iter().map(|one| one.name).collect(),
            Err(error) => {
                tracing::warn!(%error, "cards in triage are not split");
                return (Vec::new(), None);
            }
        };
        let mut due = Vec::new();
        let mut waits: Vec<Duration> = Vec::new();
        let options = boards.settings.board_options(&boards.context.env);
        for info in boards.home.list(Listed::Active).unwrap_or_default() {
            let board = boards.home.board(&info.slug);
            let is_other = boards.only.is_some_and(|only| *only != info.slug);
            if is_other || !board.has_database() {
                continue;
            }
            // A board that cannot be used is reported by the dispatcher.
            let Ok(undecided) =
                StoredBoard::open(&board, &options).and_then(|store| store.undecided(&profiles))
            else {
                continue;
            };
            let seconds = undecided
                .next
                .map(|at| at - jiff::Timestamp::now().as_second());
            let seconds = seconds.map(|left| u64::try_from(left.max(1)).unwrap_or(1));
            waits.extend(seconds.map(Duration::from_secs));
            for id in undecided.due {
                let failed = self.failed.get(&(board.database.clone(), id.clone()));
                match failed.filter(|(at, _)| *at > now) {
                    Some((at, _)) => waits.push(*at - now),
                    None => due.push((board.clone(), id)),
                }
            }
        }
        (due, waits.into_iter().min())
    }

    fn begin(
        &mut self,
        cards: Vec<(Board, TaskId)>,
        boards: &DecomposeBoards<'_>,
    ) -> io::Result<()> {
        let context = boards.context.clone();
        let options = boards.settings.board_options(&context.env);
        let (ended, interrupt) = (Arc::clone(&self.ended), Arc::clone(&self.interrupt));
        let round = move || {
            let side = AuxiliaryModels::new(context.config(), ModelOverrides::default());
            let promote = context.config().flag("kanban.auto_promote_children");
            let split = |board: &Board, id: &TaskId| -> Result<(), String> {
                let roster = roster(&context).map_err(|error| error.to_string())?;
                let mut store =
                    StoredBoard::open(board, &options).map_err(|error| error.to_string())?;
                let mut triage = Triage {
                    store: &mut store,
                    auxiliary: &side,
                    author: AUTHOR,
                    interrupt: &interrupt,
                };
                decompose(&mut triage, id, &roster, promote).map(drop)
            };
            let mut attempts = Vec::new();
            for (board, id) in cards {
                if interrupt.is_raised() {
                    break;
                }
                let failure = split(&board, &id).err();
                if let Some(failure) = &failure {
                    tracing::warn!(card = id.as_str(), failure, "a card was not split");
                }
                let card = (board.database, id);
                attempts.push(Attempt { card, failure });
            }
            ended.raise();
            attempts
        };
        let thread = std::thread::Builder::new().name("auto-decompose".to_owned());
        self.round = Some(thread.spawn(round)?);
        Ok(())
    }
}
