//! `hermes kanban daemon`: a dispatcher of its own, for machines without a gateway.
//!
//! Dispatches on every board, or on one, until a signal ends it: whenever a board or the
//! configuration changes, a worker exits or a scheduled card is due, and after an interval for what
//! gives no sign. Workers outlive it; the next dispatcher finds them. One dispatcher serves all
//! boards of a home, gateways included.

use std::collections::{HashMap, HashSet};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_board::boards::{Board, BoardHome, lock_dispatcher};
use hermes_board::dispatch::{BoardTick, TickOutcome};
use hermes_board::plan::Report;
use hermes_board::{BoardEvent, Error, KanbanSettings};
use hermes_config::settings::Problem;
use hermes_fs::FileLock;
use hermes_gateway::{DispatchLoop, DispatchObserver, Steering, described_limits};
use hermes_runtime::dispatch_settings;

use super::dispatch::LimitArgs;
use super::event_facts::event_facts;
use super::follow::board_event_line;
use super::session::{Kanban, refusal, usage};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::signal_watch::listen_for_signals;

/// Shortest and longest pause between two ticks.
const LEAST_PAUSE: Duration = Duration::from_millis(100);
const MOST_PAUSE: Duration = Duration::from_hours(24);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Most seconds between two ticks, instead of kanban.dispatch_interval_seconds
    #[arg(long, value_name = "SECONDS")]
    interval: Option<f64>,
    #[command(flatten)]
    limits: LimitArgs,
    /// File that contains the id of this process while it is running
    #[arg(long, value_name = "FILE")]
    pidfile: Option<PathBuf>,
    /// Also print what each tick did
    #[arg(short, long)]
    verbose: bool,
    /// Print warnings only, no events
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Accepted for compatibility with scripts for the Python runtime; has no effect
    #[arg(long, hide = true)]
    force: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let interval = args.interval.map(interval).transpose()?;
    kanban.caller()?.may_manage("dispatch cards")?;
    let home = kanban.home();
    let only = kanban
        .board
        .map(|slug| home.select(Some(slug)))
        .transpose()?;
    let signals = listen_for_signals()?;
    let _lock = take_lock(&home, kanban)?;
    let _pidfile = args.pidfile.as_deref().map(PidFile::write).transpose()?;
    let flags = args.limits.flags();
    if !args.quiet {
        let settings = dispatch_settings(kanban, &flags);
        announce(kanban, only.as_ref(), &settings, interval)?;
    }
    let only = only.map(|board| board.slug);
    let mut dispatch = DispatchLoop::new(kanban, only, flags, interval).map_err(|error| {
        CommandError::environment(format!("could not listen for exits of workers: {error}"))
    })?;
    let steering = Steering {
        context: &|| Arc::new(hermes_runtime::Context::clone(&kanban.reloaded())),
        wakes: &[signals.as_fd()],
        is_over: &|| signals.take().is_some(),
    };
    let left = dispatch.run(&steering, &mut Reporter::new(args, kanban))?;
    dispatch.stop();
    let left = match left {
        0 => String::new(),
        1 => "; one worker keeps running".to_owned(),
        more => format!("; {more} workers keep running"),
    };
    kanban.note(format!("Stopped{left}."))
}

/// What is dispatched, and the limits in effect.
fn announce(
    context: &Context,
    only: Option<&Board>,
    settings: &KanbanSettings,
    interval: Option<Duration>,
) -> Result<()> {
    let boards = only.map_or_else(
        || "all boards".to_owned(),
        |one| format!("board {}", one.slug),
    );
    context.note(format!(
        "Dispatching on {boards} (pid {}). Ctrl-C to stop.\n{}",
        std::process::id(),
        described_limits(settings, interval),
    ))
}

fn interval(seconds: f64) -> Result<Duration> {
    let pause = Duration::try_from_secs_f64(seconds).ok();
    pause
        .filter(|pause| !pause.is_zero())
        .map(|pause| pause.clamp(LEAST_PAUSE, MOST_PAUSE))
        .ok_or_else(|| usage("--interval must be a positive number of seconds"))
}

/// The right to dispatch for this home. A lock that fails for another reason than being held does
/// no
/// harm: every board has one of its own.
fn take_lock(home: &BoardHome, context: &Context) -> Result<Option<FileLock>> {
    match lock_dispatcher(home) {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(refusal("another dispatcher is running for this home").hint(
            "a gateway or another `hermes kanban daemon`; `hermes kanban dispatch` runs a single \
             tick",
        )),
        Err(error) => {
            context.warn(format!("could not take the dispatcher lock: {error}"))?;
            Ok(None)
        }
    }
}

/// The id of this process in a file, for as long as the process runs.
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

/// Prints what became of boards; the log has it as well.
struct Reporter<'a> {
    context: &'a Context,
    verbose: bool,
    quiet: bool,
    /// Sentences about values that were printed before.
    warned: HashSet<String>,
    /// The last message about each board that cannot be used.
    reported: HashMap<String, String>,
    was_stuck: bool,
}

impl<'a> Reporter<'a> {
    fn new(args: &Args, context: &'a Context) -> Self {
        Self {
            context,
            verbose: args.verbose,
            quiet: args.quiet,
            warned: HashSet::new(),
            reported: HashMap::new(),
            was_stuck: false,
        }
    }

    fn warn_once(&mut self, sentences: impl IntoIterator<Item = String>) -> Result<()> {
        for sentence in sentences {
            if self.warned.insert(sentence.clone()) {
                self.context.warn(sentence)?;
            }
        }
        Ok(())
    }

    /// The same problem is reported once.
    fn complain(&mut self, what: &str, error: Error) -> Result<()> {
        let CommandError { message, hints, .. } = error.into();
        if self.reported.get(what) != Some(&message) {
            self.context.warn(format!("{what}: {message}"))?;
            if let Some(hint) = hints.first() {
                self.context.hint(hint)?;
            }
            self.reported.insert(what.to_owned(), message);
        }
        Ok(())
    }
}

impl DispatchObserver for Reporter<'_> {
    type Error = CommandError;

    /// Warns about every setting of the board that cannot be used, once.
    fn settings(&mut self, now: &hermes_runtime::Context, settings: &KanbanSettings) -> Result<()> {
        let of_board =
            |problem: &&Problem| problem.key().is_none_or(|key| key.starts_with("kanban"));
        for problem in now.config().problems().iter().filter(of_board) {
            self.context.warn_once(problem);
        }
        self.warn_once(settings.complaints.iter().cloned())
    }

    fn not_split(&mut self, sentences: Vec<String>) -> Result<()> {
        self.warn_once(sentences)
    }

    fn round(&mut self, round: hermes_board::Result<Vec<BoardTick>>) -> Result<()> {
        let rows = match round {
            Ok(rows) => rows,
            Err(error) => return self.complain("the list of boards", error),
        };
        self.reported.remove("the list of boards");
        for row in rows {
            if !self.quiet {
                for event in &row.events {
                    event_line(self.context, row.slug.as_str(), event)?;
                }
            }
            let board = format!("board {}", row.slug);
            match row.outcome {
                TickOutcome::Ticked(report) => {
                    self.reported.remove(&board);
                    if self.verbose {
                        report_line(self.context, row.slug.as_str(), &report)?;
                    }
                }
                TickOutcome::Failed(error) => self.complain(&board, error)?,
                TickOutcome::Skipped => {}
            }
        }
        Ok(())
    }

    fn stuck(&mut self, is_stuck: bool) -> Result<()> {
        if is_stuck && !self.was_stuck {
            self.context
                .warn("cards are ready, but no worker could be started for a while")?;
            self.context.hint(
                "`hermes kanban diagnostics` names the cards, `hermes kanban why` the reasons",
            )?;
        }
        self.was_stuck = is_stuck;
        Ok(())
    }

    fn splitting(&mut self, _is_splitting: bool) {}
}

/// One event, with the board unless it is the default one. Heartbeats are left out: they only say
/// that nothing has happened.
fn event_line(context: &Context, board: &str, event: &BoardEvent) -> Result<()> {
    if event.kind == "heartbeat" {
        return Ok(());
    }
    let board = match board {
        "default" => String::new(),
        named => format!("{named}: "),
    };
    let line = board_event_line(context, event, &event_facts(event));
    context.line(format!("{board}{line}"))
}

/// What a tick did, if it did anything.
fn report_line(context: &Context, board: &str, report: &Report) -> Result<()> {
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
    let parts: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{what}={count}"))
        .collect();
    if parts.is_empty() {
        return Ok(());
    }
    let time = context.minute(jiff::Timestamp::now().as_second());
    let summary = parts.join(" ");
    context.line(format!("[{time}] {board}: {summary}"))
}
