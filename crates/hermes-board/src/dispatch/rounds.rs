//! Rounds over all boards, for whoever dispatches as long as it lives: a daemon, a gateway.
//!
//! One board that cannot be used never keeps the others waiting: it is told about once and left alone
//! until its file changes or a while has passed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use crate::boards::{Board, BoardSlug, Listed};
use crate::dispatch::{Dispatcher, Pass};
use crate::plan::Report;
use crate::{BoardOptions, CheckDepth, Error, Result, SqliteBoard};

/// How long a board that cannot be used is left alone.
const REST: Duration = Duration::from_mins(5);
/// Looks in a row that start nobody, though they should, before somebody is told.
const PATIENCE: u32 = 6;
/// How often that is told.
const TELL_AGAIN: Duration = Duration::from_mins(5);

/// What came of one board in a round.
#[derive(Debug)]
pub struct BoardRound {
    /// The board.
    pub slug: BoardSlug,
    /// What came of it.
    pub looked: Looked,
}

/// What came of a look.
#[derive(Debug)]
pub enum Looked {
    /// It was looked at.
    At(Box<Report>),
    /// It cannot be used; this is told once.
    Failed(Error),
    /// It could not be used a while ago and has not changed.
    Resting,
}

/// A dispatcher that goes from board to board.
#[derive(Debug)]
pub struct Rounds {
    /// The dispatcher. What it keeps to may be changed between rounds.
    pub dispatcher: Dispatcher,
    /// How boards are opened.
    pub options: BoardOptions,
    /// The one board to look at; all of them if not given.
    pub only: Option<BoardSlug>,
    boards: BTreeMap<BoardSlug, Watch>,
    looks_in_vain: u32,
    told_at: Option<Instant>,
}

/// What is remembered of a board.
#[derive(Debug, Default)]
struct Watch {
    was_checked: bool,
    broken: Option<Broken>,
}

#[derive(Debug)]
struct Broken {
    file: Option<(SystemTime, u64)>,
    since: Instant,
}

impl Rounds {
    /// Rounds that have not begun.
    pub fn new(dispatcher: Dispatcher, options: BoardOptions) -> Self {
        Self {
            dispatcher,
            options,
            only: None,
            boards: BTreeMap::new(),
            looks_in_vain: 0,
            told_at: None,
        }
    }

    /// Looks at every board that is not put away, in the order of the list. The error is about the
    /// list itself; what is wrong with one board stands in its row.
    pub fn round(&mut self, now: Instant) -> Result<Vec<BoardRound>> {
        let mut rows = Vec::new();
        for info in self.dispatcher.home.list(Listed::Active)? {
            if self.only.as_ref().is_some_and(|only| *only != info.slug) {
                continue;
            }
            let board = self.dispatcher.home.board(&info.slug);
            // A board without a file has no cards. It is made by whoever files the first.
            if !board.database.exists() {
                continue;
            }
            let looked = self.look(&board, now);
            tell(&board, &looked);
            rows.push(BoardRound {
                slug: info.slug,
                looked,
            });
        }
        self.tell_if_stuck(&rows, now);
        Ok(rows)
    }

    fn look(&mut self, board: &Board, now: Instant) -> Looked {
        let watch = self.boards.entry(board.slug.clone()).or_default();
        let file = stamp(board);
        if let Some(broken) = &watch.broken
            && broken.file == file
            && now.saturating_duration_since(broken.since) < REST
        {
            return Looked::Resting;
        }
        let mut options = self.options.clone();
        if !watch.was_checked {
            options.check = CheckDepth::Quick;
        }
        let opened = SqliteBoard::open(board, &options);
        watch.was_checked |= opened.is_ok();
        let looked =
            opened.and_then(|mut store| self.dispatcher.dispatch_once(&mut store, Pass::Real));
        let watch = self.boards.entry(board.slug.clone()).or_default();
        match looked {
            Ok(report) => {
                watch.broken = None;
                Looked::At(Box::new(report))
            }
            Err(error) => {
                // Only damage lasts; a full disk or a lock may be gone by the next round.
                watch.broken = error.is_damage().then_some(Broken { file, since: now });
                Looked::Failed(error)
            }
        }
    }

    fn tell_if_stuck(&mut self, rows: &[BoardRound], now: Instant) {
        let reports = || {
            rows.iter().filter_map(|row| match &row.looked {
                Looked::At(report) => Some(report.as_ref()),
                Looked::Failed(_) | Looked::Resting => None,
            })
        };
        let is_in_vain =
            reports().any(Report::is_stuck) && reports().all(|report| report.spawned.is_empty());
        self.looks_in_vain = if is_in_vain {
            self.looks_in_vain.saturating_add(1)
        } else {
            0
        };
        if self.is_stuck()
            && self
                .told_at
                .is_none_or(|at| now.saturating_duration_since(at) >= TELL_AGAIN)
        {
            self.told_at = Some(now);
            tracing::warn!(
                looks = self.looks_in_vain,
                "there is ready work, and no worker could be started for a while; \
                 `hermes kanban dispatch` shows why"
            );
        }
    }

    /// Whether the last rounds tried to start workers and started none.
    pub fn is_stuck(&self) -> bool {
        self.looks_in_vain >= PATIENCE
    }
}

fn tell(board: &Board, looked: &Looked) {
    let board = board.slug.as_str();
    match looked {
        Looked::At(report) if !report.spawned.is_empty() => {
            tracing::info!(board, workers = report.spawned.len(), "started workers");
        }
        Looked::Failed(error) => {
            tracing::error!(board, %error, "could not dispatch");
        }
        Looked::At(_) | Looked::Resting => {}
    }
}

/// What tells that a file was changed.
fn stamp(board: &Board) -> Option<(SystemTime, u64)> {
    let meta = hermes_fs::metadata(&board.database).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}
