//! Ticks over all boards, for processes that dispatch as long as they run: a daemon, a gateway.
//!
//! A board that cannot be used does not delay the others: it is reported once and skipped until its
//! file changes or a while has passed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use crate::boards::{Board, BoardSlug, Listed};
use crate::dispatch::Dispatcher;
use crate::dispatch::log_teller::LogTeller;
use crate::plan::Report;
use crate::{
    BoardEvent, BoardOptions, CheckDepth, Error, EventQuery, Result, StoredBoard, own_lock,
};

/// How long a board that cannot be used is skipped.
const REST: Duration = Duration::from_mins(5);
/// Ticks in a row that start no worker, though they should, before a warning.
const STUCK_TICKS: u32 = 6;
/// How often the warning is repeated.
const WARN_AGAIN: Duration = Duration::from_mins(5);

/// Outcome of one board.
#[derive(Debug)]
pub struct BoardTick {
    pub slug: BoardSlug,
    pub outcome: TickOutcome,
    /// What has happened on the board since the last tick, this one included.
    pub events: Vec<BoardEvent>,
    /// When the next scheduled card is due, in seconds since 1970.
    pub next_due: Option<i64>,
}

/// Outcome of a tick.
#[derive(Debug)]
pub enum TickOutcome {
    Ticked(Box<Report>),
    /// The board cannot be used; reported once.
    Failed(Error),
    /// The board could not be used a while ago and has not changed.
    Skipped,
}

/// A dispatcher for all boards.
#[derive(Debug)]
pub struct BoardLoop {
    /// The dispatcher. Its limits may be changed between ticks.
    pub dispatcher: Dispatcher,
    pub options: BoardOptions,
    /// The only board to dispatch on; all if not given.
    pub only: Option<BoardSlug>,
    boards: BTreeMap<BoardSlug, Watch>,
    ticks: u64,
    vain_ticks: u32,
    warned_at: Option<Instant>,
    logs: LogTeller,
}

/// What is remembered of a board.
#[derive(Debug, Default)]
struct Watch {
    was_checked: bool,
    /// The last event that was handed on.
    seen: Option<i64>,
    broken: Option<Broken>,
}

#[derive(Debug)]
struct Broken {
    file: Option<(SystemTime, u64)>,
    since: Instant,
}

impl BoardLoop {
    /// A loop that has not begun.
    pub fn new(dispatcher: Dispatcher, options: BoardOptions) -> Self {
        Self {
            dispatcher,
            options,
            only: None,
            boards: BTreeMap::new(),
            ticks: 0,
            vain_ticks: 0,
            warned_at: None,
            logs: LogTeller::default(),
        }
    }

    /// One tick of every board that is not archived, in the order of the list. The error is about
    /// the list itself; the error of a board is in its outcome.
    pub fn tick_all(&mut self, now: Instant) -> Result<Vec<BoardTick>> {
        let mut rows = Vec::new();
        for info in self.dispatcher.home.list(Listed::Active)? {
            if self.only.as_ref().is_some_and(|only| *only != info.slug) {
                continue;
            }
            let board = self.dispatcher.home.board(&info.slug);
            // A board without a file has no cards; creating the first one creates the file.
            if !board.has_database() {
                continue;
            }
            let mut row = BoardTick {
                slug: info.slug,
                outcome: TickOutcome::Skipped,
                events: Vec::new(),
                next_due: None,
            };
            self.tick(&board, now, &mut row);
            log(&board, &row.outcome);
            rows.push(row);
        }
        self.ticks += 1;
        self.warn_if_stuck(&rows, now);
        Ok(rows)
    }

    fn tick(&mut self, board: &Board, now: Instant, row: &mut BoardTick) {
        let watch = self.boards.entry(board.slug.clone()).or_default();
        let file = stamp(board);
        if let Some(broken) = &watch.broken
            && broken.file == file
            && now.saturating_duration_since(broken.since) < REST
        {
            return;
        }
        let mut options = self.options.clone();
        if !watch.was_checked {
            options.check = CheckDepth::Quick;
        }
        let opened = StoredBoard::open(board, &options);
        watch.was_checked |= opened.is_ok();
        let report = opened.and_then(|mut store| {
            let before = match watch.seen {
                Some(seen) => seen,
                // What happened before the loop began is history, but not on a board that is new.
                None if self.ticks == 0 => store.latest_event_id()?,
                None => 0,
            };
            watch.seen = Some(before);
            let report = self.dispatcher.tick(&mut store)?;
            if store.is_on_server() {
                let running = store.running_here(&own_lock())?;
                self.logs.watch(board, &self.options, running);
            }
            row.events = store.events(&EventQuery {
                after: before,
                ..EventQuery::default()
            })?;
            row.next_due = store.next_scheduled()?;
            Ok(report)
        });
        if let Some(last) = row.events.last() {
            watch.seen = Some(last.event.id);
        }
        row.outcome = match report {
            Ok(report) => {
                watch.broken = None;
                TickOutcome::Ticked(Box::new(report))
            }
            Err(error) => {
                // Only damage lasts; a full disk or a lock may be gone by the next tick.
                watch.broken = error.is_damage().then_some(Broken { file, since: now });
                TickOutcome::Failed(error)
            }
        };
    }

    /// Tells boards on servers that this dispatcher ends.
    pub fn leave(&mut self) {
        let options = self.options.clone();
        self.dispatcher.leave(&options);
    }

    /// Files whose changes may give the dispatcher something to do, and directories in which boards
    /// appear.
    pub fn watched_files(&self) -> Result<(BTreeSet<PathBuf>, BTreeSet<PathBuf>)> {
        self.dispatcher.home.watched_files(self.only.as_ref())
    }

    fn warn_if_stuck(&mut self, rows: &[BoardTick], now: Instant) {
        let reports = || {
            rows.iter().filter_map(|row| match &row.outcome {
                TickOutcome::Ticked(report) => Some(report.as_ref()),
                TickOutcome::Failed(_) | TickOutcome::Skipped => None,
            })
        };
        let is_in_vain =
            reports().any(Report::is_stuck) && reports().all(|report| report.spawned.is_empty());
        self.vain_ticks = if is_in_vain {
            self.vain_ticks.saturating_add(1)
        } else {
            0
        };
        if self.is_stuck()
            && self
                .warned_at
                .is_none_or(|at| now.saturating_duration_since(at) >= WARN_AGAIN)
        {
            self.warned_at = Some(now);
            tracing::warn!(
                ticks = self.vain_ticks,
                "cards are ready, but no worker could be started for a while; \
                 `hermes kanban dispatch` shows why"
            );
        }
    }

    /// Whether the last ticks tried to start workers and started none.
    pub fn is_stuck(&self) -> bool {
        self.vain_ticks >= STUCK_TICKS
    }
}

fn log(board: &Board, outcome: &TickOutcome) {
    let board = board.slug.as_str();
    match outcome {
        TickOutcome::Ticked(report) if !report.spawned.is_empty() => {
            tracing::info!(board, workers = report.spawned.len(), "started workers");
        }
        TickOutcome::Failed(error) => {
            tracing::error!(board, %error, "could not dispatch");
        }
        TickOutcome::Ticked(_) | TickOutcome::Skipped => {}
    }
}

/// Changes when the file does.
fn stamp(board: &Board) -> Option<(SystemTime, u64)> {
    let meta = hermes_fs::metadata(&board.database).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}
