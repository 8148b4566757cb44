//! `hermes kanban daemon`: a dispatcher of its own, for machines without a gateway.
//!
//! Looks at every board, or at one, until a signal ends it. Workers go on without it; the next
//! dispatcher finds them. Only one dispatcher is at work for all boards of a home, gateways included.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use hermes_board::CheckDepth;
use hermes_board::boards::{Board, BoardHome, BoardSlug, DispatcherLock, Listed};
use hermes_board::dispatch::{DispatchFlags, DispatchSettings, Dispatcher, Pass};
use hermes_board::plan::Report;
use hermes_proc::{EndSignals, first_readable};

use super::dispatch::LimitArgs;
use super::session::{open, refusal, settings, usage};
use super::times::LocalTime;
use super::workers::{dispatch_settings, worker_setup};
use crate::context::Context;
use crate::error::{CommandError, Result};

/// Looks without a single start, though there was work, before somebody is told.
const STUCK_LOOKS: u32 = 6;
/// Shortest time between two warnings about the same thing.
const WARN_AGAIN: Duration = Duration::from_mins(5);
/// Shortest and longest pause between two looks.
const LEAST_PAUSE: Duration = Duration::from_millis(100);
const MOST_PAUSE: Duration = Duration::from_hours(24);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Seconds between two looks, instead of kanban.dispatch_interval_seconds
    #[arg(long, value_name = "SECONDS")]
    interval: Option<f64>,
    #[command(flatten)]
    limits: LimitArgs,
    /// File that holds the number of this process while it runs
    #[arg(long, value_name = "FILE")]
    pidfile: Option<PathBuf>,
    /// Print what each look did
    #[arg(short, long)]
    verbose: bool,
    /// Has no effect here; scripts for the reference give it
    #[arg(long, hide = true)]
    force: bool,
}

pub(super) fn run(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let interval = args.interval.map(interval).transpose()?;
    let home = BoardHome::resolve(&context.env, &context.location);
    let only = board.map(|slug| home.select(Some(slug))).transpose()?;
    let signals = EndSignals::listen().map_err(|error| {
        CommandError::environment(format!("could not listen for signals: {error}"))
    })?;
    let _lock = take_lock(&home, context)?;
    let _pidfile = args.pidfile.as_deref().map(PidFile::write).transpose()?;
    let flags = args.limits.flags();
    let mut rounds = Rounds::new(context, home, &flags, only, args.verbose);
    let settings = dispatch_settings(context, &flags);
    context.printer.note(format!(
        "Looking at {} every {} s (pid {}). Ctrl-C to stop.",
        rounds.boards_in_words(),
        interval.unwrap_or(settings.interval).as_secs_f64(),
        std::process::id()
    ))?;
    loop {
        // What is configured may change while we run.
        let now = context.anew();
        let settings = dispatch_settings(&now, &flags);
        rounds.look(&now, &settings)?;
        let pause = interval.unwrap_or(settings.interval);
        first_readable(&[signals.as_fd()], Some(pause))?;
        if signals.take().is_some() {
            let left = match rounds.dispatcher.children() {
                0 => String::new(),
                1 => "; one worker goes on".to_owned(),
                more => format!("; {more} workers go on"),
            };
            context.printer.note(format!("Stopped{left}."))?;
            return Ok(ExitCode::SUCCESS);
        }
    }
}

fn interval(seconds: f64) -> Result<Duration> {
    let pause = Duration::try_from_secs_f64(seconds).ok();
    pause
        .filter(|pause| !pause.is_zero())
        .map(|pause| pause.clamp(LEAST_PAUSE, MOST_PAUSE))
        .ok_or_else(|| usage("--interval must be a positive number of seconds"))
}

/// The right to dispatch for this home. A lock that cannot be taken for any other reason than that
/// somebody has it does no harm: every board has one of its own.
fn take_lock(home: &BoardHome, context: &Context) -> Result<Option<DispatcherLock>> {
    match DispatcherLock::take(home) {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(refusal("another dispatcher is at work for this home").hint(
            "a gateway or another `hermes kanban daemon`; `hermes kanban dispatch` looks once",
        )),
        Err(error) => {
            context.printer.warn(
                format!("could not take the lock of dispatchers: {error}"),
                None,
            )?;
            Ok(None)
        }
    }
}

/// The number of this process in a file, for as long as the process runs.
struct PidFile(PathBuf);

impl PidFile {
    fn write(path: &Path) -> Result<Self> {
        if let Some(directory) = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            hermes_fs::create_dir_all(directory, 0o755)?;
        }
        let number = format!("{}\n", std::process::id());
        hermes_fs::write_atomic(path, number.as_bytes(), 0o644)?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // Another process may have put its own number there.
        let own = format!("{}\n", std::process::id());
        if hermes_fs::read_text_capped(&self.0, 64).is_ok_and(|text| text == own) {
            // Left behind it only names a process that is no more.
            drop(hermes_fs::remove_file_if_present(&self.0));
        }
    }
}

/// What is remembered from look to look.
struct Rounds {
    dispatcher: Dispatcher,
    only: Option<Board>,
    verbose: bool,
    /// Boards that could not be looked at, and when that was last said.
    trouble: HashMap<BoardSlug, Trouble>,
    /// Looks in a row that started nobody though somebody should have been started.
    stuck: u32,
    warned: Option<Instant>,
}

struct Trouble {
    said: Instant,
    message: String,
    /// A damaged file is left alone until it changes.
    file: Option<Stamp>,
}

/// Tells whether a file has changed.
type Stamp = Option<(SystemTime, u64)>;

impl Rounds {
    fn new(
        context: &Context,
        home: BoardHome,
        flags: &DispatchFlags,
        only: Option<Board>,
        verbose: bool,
    ) -> Self {
        let settings = dispatch_settings(context, flags);
        let workers = worker_setup(context, &home, &settings);
        Self {
            dispatcher: Dispatcher::new(home, settings.limits, workers),
            only,
            verbose,
            trouble: HashMap::new(),
            stuck: 0,
            warned: None,
        }
    }

    fn boards_in_words(&self) -> String {
        match &self.only {
            Some(board) => format!("board {}", board.slug),
            None => "all boards".to_owned(),
        }
    }

    /// Looks at each board. One that cannot be looked at does not hold up the others.
    fn look(&mut self, context: &Context, settings: &DispatchSettings) -> Result<()> {
        self.dispatcher.limits = settings.limits.clone();
        self.dispatcher.workers = worker_setup(context, &self.dispatcher.home, settings);
        let home = self.dispatcher.home.clone();
        let boards = match &self.only {
            Some(board) => vec![board.clone()],
            None => match home.list(Listed::Active) {
                Ok(boards) => boards.iter().map(|info| home.board(&info.slug)).collect(),
                Err(error) => {
                    context.printer.warn(error.to_string(), None)?;
                    return Ok(());
                }
            },
        };
        let (mut started, mut failed) = (0, 0);
        for board in &boards {
            if self.is_left_alone(board) {
                continue;
            }
            match self.look_at(context, board) {
                Ok(report) => {
                    self.trouble.remove(&board.slug);
                    started += report.spawned.len();
                    failed += report.spawn_failed.len();
                    self.tell(context, board, &report)?;
                }
                Err(error) if error.is_broken_pipe() => return Err(error),
                Err(error) => self.complain(context, board, &error)?,
            }
        }
        self.judge(context, started, failed)
    }

    fn look_at(&mut self, context: &Context, board: &Board) -> Result<Report> {
        let mut store = open(context, board, &settings(context), CheckDepth::WhenDue)?;
        Ok(self.dispatcher.dispatch_once(&mut store, Pass::Real)?)
    }

    /// Whether a board is damaged and nothing has been done about it.
    fn is_left_alone(&self, board: &Board) -> bool {
        self.trouble.get(&board.slug).is_some_and(|trouble| {
            trouble.said.elapsed() < WARN_AGAIN
                && trouble.file.is_some_and(|seen| seen == stamp(board))
        })
    }

    fn complain(&mut self, context: &Context, board: &Board, error: &CommandError) -> Result<()> {
        let (message, hints) = error.words();
        let known = self.trouble.get(&board.slug);
        let is_news = known
            .is_none_or(|known| known.message != message || known.said.elapsed() >= WARN_AGAIN);
        if is_news {
            let words = format!("board {}: {message}", board.slug);
            tracing::error!("{words}");
            context
                .printer
                .warn(&words, hints.first().map(String::as_str))?;
            let trouble = Trouble {
                said: Instant::now(),
                message: message.to_owned(),
                file: Some(stamp(board)),
            };
            self.trouble.insert(board.slug.clone(), trouble);
        }
        Ok(())
    }

    fn tell(&self, context: &Context, board: &Board, report: &Report) -> Result<()> {
        let counts = [
            ("reclaimed", report.reclaimed.len()),
            ("crashed", report.crashed.len()),
            ("timed_out", report.timed_out.len()),
            ("stale", report.stale.len()),
            ("promoted", report.promoted.len()),
            ("spawned", report.spawned.len()),
            ("auto_blocked", report.auto_blocked.len()),
            ("rate_limited", report.rate_limited.len()),
            ("spawn_failed", report.spawn_failed.len()),
        ];
        if counts.iter().all(|(_, count)| *count == 0) {
            return Ok(());
        }
        let words: Vec<String> = counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| format!("{what}={count}"))
            .collect();
        let words = words.join(" ");
        tracing::info!(board = board.slug.as_str(), "{words}");
        if self.verbose {
            let now = jiff::Timestamp::now().as_second();
            let time = LocalTime::of(context).minute(now);
            context
                .printer
                .line(format!("[{time}] {}: {words}", board.slug))?;
        }
        Ok(())
    }

    /// Says that cards wait and nobody can be started, at times.
    fn judge(&mut self, context: &Context, started: usize, failed: usize) -> Result<()> {
        if started > 0 || failed == 0 {
            self.stuck = 0;
            return Ok(());
        }
        self.stuck = self.stuck.saturating_add(1);
        let may_warn = self.warned.is_none_or(|at| at.elapsed() >= WARN_AGAIN);
        if self.stuck >= STUCK_LOOKS && may_warn {
            self.warned = Some(Instant::now());
            context.printer.warn(
                format!(
                    "{} looks in a row could not start a single worker",
                    self.stuck
                ),
                Some(
                    "`hermes kanban diagnostics` names the cards, `hermes kanban log` the reasons",
                ),
            )?;
        }
        Ok(())
    }
}

fn stamp(board: &Board) -> Stamp {
    let meta = hermes_fs::metadata(&board.database).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}
