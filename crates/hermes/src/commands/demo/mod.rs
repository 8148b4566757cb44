//! `hermes demo`: the whole product at work, with no key, no network and nothing of the user's.
//!
//! In a home that is thrown away, cards are filed, workers started, killed and checked, exactly as
//! anywhere else; only the model is a script.

mod home;
mod run;
mod script;
mod summary;

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hermes_board::DispatchFlags;
use hermes_proc::{EndSignal, first_readable};
use rustix::stdio::{stdin, stdout};
use rustix::termios::isatty;

use super::kanban::{Kanban, Looking, accompany};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::signal_watch::listen_for_signals;
use home::DemoHome;
use run::DemoRun;
use script::DemoScript;

/// Between two ticks of the dispatcher.
const PAUSE: Duration = Duration::from_millis(150);
/// Longer than any demo is worth watching.
const MOST: Duration = Duration::from_mins(5);
/// How long the finished board stays on the screen.
const LAST_LOOK: Duration = Duration::from_millis(1500);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keep the demo's home and everything in it
    #[arg(long)]
    keep: bool,
    /// Play this file instead of the built-in demo
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Print what happens line by line, even on a terminal
    #[arg(long)]
    plain: bool,
}

/// How the demo ended.
enum End {
    Over,
    /// Somebody has seen enough.
    Left,
    Signal(EndSignal),
    TooLong,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let script = DemoScript::load(args.script.as_deref())?;
    let home = DemoHome::create(context, &script)?;
    let outcome = run_in(&home, args, &script);
    if args.keep {
        return outcome;
    }
    match (outcome, home.remove()) {
        (Ok(_), Err(error)) => Err(error),
        (outcome, _) => outcome,
    }
}

fn run_in(home: &DemoHome, args: &Args, script: &DemoScript) -> Result<ExitCode> {
    let context = &home.context;
    let printer = context.printer;
    context.start_logging();
    let mut session = Kanban::of(context).open()?;
    let ids = home.create_cards(&mut session, &script.cards)?;
    printer.line(format!(
        "{}: {} cards, {} agents, in {}",
        script.title,
        script.cards.len(),
        script.profiles.len(),
        home.directory.display()
    ))?;
    let dispatcher = session.dispatcher(&DispatchFlags::default());
    let mut run = DemoRun::new(session, dispatcher, &script.cards, &ids)?;
    let watched = !args.plain && isatty(stdin()) && isatty(stdout());
    let shown = if watched {
        on_screen(&mut run, context)
    } else {
        in_lines(&mut run, context)
    };
    // Whatever happened, no worker is left behind.
    let ended = run.end();
    let end = shown?;
    ended?;
    let code = match end {
        End::Signal(signal) => return Ok(ExitCode::from(signal.exit_code())),
        End::TooLong => {
            summary::print(&run, printer)?;
            return Err(CommandError::user(format!(
                "the demo did not finish within {} minutes",
                MOST.as_secs() / 60
            ))
            .hint("run it again with --keep and check `hermes kanban log`"));
        }
        End::Left => {
            summary::print(&run, printer)?;
            ExitCode::SUCCESS
        }
        End::Over if summary::print(&run, printer)? => ExitCode::SUCCESS,
        End::Over => ExitCode::FAILURE,
    };
    let kept = args.keep.then_some(home.directory.as_path());
    summary::next_steps(kept, printer)?;
    Ok(code)
}

/// One line for everything that happens.
fn in_lines(run: &mut DemoRun<'_>, context: &Context) -> Result<End> {
    let signals = listen_for_signals()?;
    loop {
        let is_over = run.step()?;
        let seconds = run.elapsed().as_secs_f64();
        for message in run.messages()? {
            context.line(told(seconds, &message))?;
        }
        if is_over {
            return Ok(End::Over);
        }
        if run.elapsed() > MOST {
            return Ok(End::TooLong);
        }
        first_readable(&[signals.as_fd()], Some(PAUSE))?;
        if let Some(signal) = signals.take() {
            return Ok(End::Signal(signal));
        }
    }
}

fn told(seconds: f64, message: &str) -> String {
    format!("{seconds:5.1} s  {message}")
}

/// The live board, while the demo runs behind it and tells its story below.
fn on_screen(run: &mut DemoRun<'_>, context: &Context) -> Result<End> {
    let mut watched = Kanban::of(context).open()?;
    let mut over_since: Option<Instant> = None;
    let mut too_long = false;
    let mut next = Instant::now();
    let left = accompany(&mut watched, &mut |story| {
        if over_since.is_none() && Instant::now() >= next {
            next = Instant::now() + PAUSE;
            if run.step()? {
                over_since = Some(Instant::now());
            }
            too_long = run.elapsed() > MOST;
            let seconds = run.elapsed().as_secs_f64();
            for message in run.messages()? {
                story.push(told(seconds, &message));
            }
        }
        let seen_enough = over_since.is_some_and(|since| since.elapsed() > LAST_LOOK);
        Ok(if seen_enough || too_long {
            Looking::Enough
        } else {
            Looking::On
        })
    })?;
    Ok(match (left, over_since) {
        (Some(signal), None) => End::Signal(signal),
        (_, Some(_)) => End::Over,
        _ if too_long => End::TooLong,
        (None, None) => End::Left,
    })
}
