//! Ticks over all boards of a home, whenever something may have given the dispatcher work: a board or
//! the configuration changes, a worker exits, a scheduled card is due; and after an interval for what
//! gives no sign.
//!
//! `hermes kanban daemon` and the gateway run the same loop and differ in what they tell whom, which
//! is the [`DispatchObserver`]. Workers outlive the loop; the next dispatcher finds them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_board::boards::BoardSlug;
use hermes_board::dispatch::{BoardLoop, BoardTick, Dispatcher};
use hermes_board::model::Assignee;
use hermes_board::{DispatchFlags, KanbanSettings};
use hermes_proc::{ChildExits, FileWatch, first_readable};
use hermes_runtime::{
    AutoDecomposer, Context, DecomposeBoards, OrphanSweep, dispatch_settings, worker_setup,
};

use crate::pace::Pace;

/// Who is told what happens.
pub trait DispatchObserver {
    /// Ends the loop.
    type Error: From<io::Error>;

    /// The settings of the tick to come.
    fn settings(&mut self, context: &Context, settings: &KanbanSettings)
    -> Result<(), Self::Error>;

    /// Cards in triage that could not be split, a sentence each.
    fn not_split(&mut self, sentences: Vec<String>) -> Result<(), Self::Error>;

    /// What became of the boards.
    fn round(&mut self, round: hermes_board::Result<Vec<BoardTick>>) -> Result<(), Self::Error>;

    /// Whether the last ticks tried to start workers and started none.
    fn stuck(&mut self, is_stuck: bool) -> Result<(), Self::Error>;

    /// Whether a model splits cards at the moment.
    fn splitting(&mut self, is_splitting: bool);
}

/// What steers a loop from outside.
pub struct Steering<'a> {
    /// The settings for the next tick.
    pub context: &'a dyn Fn() -> Arc<Context>,
    /// Readable when there may be a reason to tick or to end.
    pub wakes: &'a [BorrowedFd<'a>],
    /// Whether to end. Asked after every wait.
    pub is_over: &'a dyn Fn() -> bool,
}

/// A dispatcher that works until it is told to end.
pub struct DispatchLoop {
    flags: DispatchFlags,
    interval: Option<Duration>,
    boards: BoardLoop,
    orphans: OrphanSweep,
    decomposer: AutoDecomposer,
    exits: ChildExits,
    watch: FileWatch,
    pace: Pace,
}

impl DispatchLoop {
    /// A loop that has not begun, over one board or all, with these flags over the settings and, if
    /// given, this interval instead of the configured one.
    pub fn new(
        context: &Context,
        only: Option<BoardSlug>,
        flags: DispatchFlags,
        interval: Option<Duration>,
    ) -> io::Result<Self> {
        let home = hermes_runtime::board_home(context);
        let settings = dispatch_settings(context, &flags);
        let workers = worker_setup(context, &home, &settings);
        let dispatcher =
            Dispatcher::new(home, settings.limits.clone(), workers).on_host(settings.host.clone());
        let mut boards = BoardLoop::new(dispatcher, settings.board_options(&context.env));
        boards.only = only;
        Ok(Self {
            flags,
            interval,
            boards,
            orphans: OrphanSweep::new(context),
            decomposer: AutoDecomposer::new()?,
            exits: ChildExits::listen()?,
            watch: FileWatch::default(),
            pace: Pace::default(),
        })
    }

    /// Ticks until it is over; returns how many workers are left.
    pub fn run<O: DispatchObserver>(
        &mut self,
        steering: &Steering<'_>,
        observer: &mut O,
    ) -> Result<usize, O::Error> {
        loop {
            let begun = Instant::now();
            let pause = self.tick(&(steering.context)(), begun, observer)?;
            let ended = Instant::now();
            let own = [self.exits.as_fd(), self.decomposer.as_fd()];
            let wakes: Vec<BorrowedFd<'_>> = own.iter().chain(steering.wakes).copied().collect();
            self.watch.wait(&wakes, Some(pause))?;
            let rest = self.pace.rest(ended - begun, ended.elapsed());
            if !rest.is_zero() {
                first_readable(steering.wakes, Some(rest))?;
            }
            if (steering.is_over)() {
                self.boards.leave();
                return Ok(self.boards.dispatcher.reap());
            }
        }
    }

    /// Waits until no model splits cards any more, or `wake` can be read.
    pub(crate) fn wait_for_split(&self, wake: BorrowedFd<'_>) -> io::Result<()> {
        if self.decomposer.is_busy() {
            first_readable(&[self.decomposer.as_fd(), wake], None)?;
        }
        Ok(())
    }

    /// Ends what a model does for the loop.
    pub fn stop(&mut self) {
        self.decomposer.stop();
    }

    /// One tick of all boards; returns how long to wait for the next at most.
    fn tick<O: DispatchObserver>(
        &mut self,
        context: &Context,
        begun: Instant,
        observer: &mut O,
    ) -> Result<Duration, O::Error> {
        // In this order: what changes from here on leads to another tick.
        self.watch_files(context);
        self.exits.clear();
        // What is configured may change while we run.
        let settings = dispatch_settings(context, &self.flags);
        observer.settings(context, &settings)?;
        let boards = &mut self.boards;
        boards.dispatcher.workers = worker_setup(context, &boards.dispatcher.home, &settings);
        boards.dispatcher.workers.after_loss = self.orphans.after_loss();
        boards.dispatcher.limits = settings.limits.clone();
        boards.dispatcher.host_settings = settings.host.clone();
        boards.dispatcher.interval = self.interval.unwrap_or(settings.dispatch_interval);
        boards.options = settings.board_options(&context.env);
        let round = boards.tick_all(begun);
        let mut pause = self.interval.unwrap_or(settings.dispatch_interval);
        let (sentences, next) = self.decomposer.step(&DecomposeBoards {
            context,
            home: &boards.dispatcher.home,
            only: boards.only.as_ref(),
            settings: &settings,
            interval: pause,
        });
        observer.splitting(self.decomposer.is_busy());
        observer.not_split(sentences)?;
        pause = next.map_or(pause, |next| next.min(pause));
        if let Ok(rows) = &round {
            pause = until_due(rows).map_or(pause, |due| due.min(pause));
        }
        observer.round(round)?;
        observer.stuck(self.boards.is_stuck())?;
        Ok(pause)
    }

    /// Watches what a tick depends on. A list of boards that cannot be read is reported by the tick.
    fn watch_files(&mut self, context: &Context) {
        let Ok((mut files, directories)) = self.boards.watched_files() else {
            return;
        };
        files.insert(context.location.home.join("config.yaml"));
        files.insert(context.location.home.join(".env"));
        self.watch.watch(files, directories);
    }
}

/// The limits in effect, in a sentence or two.
pub fn described_limits(settings: &KanbanSettings, interval: Option<Duration>) -> String {
    let limits = &settings.limits;
    let cap =
        |cap: Option<usize>| cap.map_or_else(|| "unlimited".to_owned(), |cap| cap.to_string());
    let running = [limits.max_in_progress, limits.max_spawn];
    let running = running.into_iter().flatten().min();
    let assignee = limits.default_assignee.as_ref().map(Assignee::as_str);
    format!(
        "Cards in progress: {}; per profile: {}. Blocked after {} failures. Default assignee: {}. \
         Checked at every change, and at least every {} s.",
        cap(running),
        cap(limits.max_in_progress_per_profile),
        limits.failure_limit,
        assignee.unwrap_or("none"),
        interval.unwrap_or(settings.dispatch_interval).as_secs_f64(),
    )
}

/// How long until the next scheduled card of these boards is due.
fn until_due(rows: &[BoardTick]) -> Option<Duration> {
    let now = jiff::Timestamp::now().as_second();
    let left = rows.iter().filter_map(|row| row.next_due).min()? - now;
    // A card that is due and was left alone waits for something else.
    u64::try_from(left)
        .ok()
        .filter(|left| *left > 0)
        .map(Duration::from_secs)
}
