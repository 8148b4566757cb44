//! `hermes demo`: the whole product at work, with no key, no network and nothing of the user's.
//!
//! In a home that is thrown away, cards are filed, workers started, killed and checked, exactly as
//! anywhere else; only the model is a script.

mod play;
mod script;
mod stage;
mod summary;

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hermes_proc::{EndSignal, EndSignals, first_readable};
use rustix::stdio::{stdin, stdout};
use rustix::termios::isatty;

use super::kanban::{BoardSession, Looking, accompany, dispatcher};
use crate::context::Context;
use crate::error::{CommandError, Result};
use play::Play;
use script::DemoScript;
use stage::Stage;

/// Between two looks of the dispatcher.
const PAUSE: Duration = Duration::from_millis(150);
/// Longer than any demo is worth watching.
const MOST: Duration = Duration::from_mins(5);
/// How long the finished board stays on the screen.
const LAST_LOOK: Duration = Duration::from_millis(1500);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keep the home with everything in it
    #[arg(long)]
    keep: bool,
    /// Play this file instead of the demo that comes along
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Print what happens line by line, also at a terminal
    #[arg(long)]
    plain: bool,
}

/// How the play ended.
enum End {
    /// All cards came to an end.
    Over,
    /// Somebody has seen enough.
    Left,
    /// A signal.
    Signal(EndSignal),
    /// It took too long.
    TooLong,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let script = DemoScript::load(args.script.as_deref())?;
    let stage = Stage::set(context, &script)?;
    let outcome = perform(args, &script, &stage);
    if args.keep {
        return outcome;
    }
    match (outcome, stage.strike()) {
        (Ok(_), Err(error)) => Err(error),
        (outcome, _) => outcome,
    }
}

fn perform(args: &Args, script: &DemoScript, stage: &Stage) -> Result<ExitCode> {
    let context = &stage.context;
    let printer = &context.printer;
    context.start_logging();
    let mut session = BoardSession::open(context, None)?;
    let ids = stage.file(&mut session, &script.cards)?;
    printer.line(format!(
        "{}: {} cards, {} agents, in {}",
        script.title,
        script.cards.len(),
        script.profiles.len(),
        stage.directory.display()
    ))?;
    let dispatcher = dispatcher(&session);
    let mut play = Play::new(session, dispatcher, &script.cards, &ids)?;
    let watched = !args.plain && isatty(stdin()) && isatty(stdout());
    let shown = if watched {
        on_screen(&mut play, context)
    } else {
        in_lines(&mut play, context)
    };
    // Whatever happened, no worker is left behind.
    let ended = play.end();
    let end = shown?;
    ended?;
    let code = match end {
        End::Signal(signal) => return Ok(ExitCode::from(signal.exit_code())),
        End::TooLong => {
            summary::print(&play, printer)?;
            return Err(CommandError::user(format!(
                "the demo was not over after {} minutes",
                MOST.as_secs() / 60
            ))
            .hint("look at it with --keep and `hermes kanban log`"));
        }
        End::Left => {
            summary::print(&play, printer)?;
            ExitCode::SUCCESS
        }
        End::Over if summary::print(&play, printer)? => ExitCode::SUCCESS,
        End::Over => ExitCode::FAILURE,
    };
    let kept = args.keep.then_some(stage.directory.as_path());
    summary::next_steps(kept, printer)?;
    Ok(code)
}

/// One line for everything that happens.
fn in_lines(play: &mut Play<'_>, context: &Context) -> Result<End> {
    let signals = EndSignals::listen().map_err(|error| {
        CommandError::environment(format!("could not listen for signals: {error}"))
    })?;
    loop {
        let is_over = play.step()?;
        for news in play.news()? {
            let seconds = news.at.as_secs_f64();
            context
                .printer
                .line(format!("{seconds:5.1} s  {}", news.text))?;
        }
        if is_over {
            return Ok(End::Over);
        }
        if play.elapsed() > MOST {
            return Ok(End::TooLong);
        }
        first_readable(&[signals.as_fd()], Some(PAUSE))?;
        if let Some(signal) = signals.take() {
            return Ok(End::Signal(signal));
        }
    }
}

/// The live board, while the play goes on behind it.
fn on_screen(play: &mut Play<'_>, context: &Context) -> Result<End> {
    let watched = BoardSession::open(context, None)?;
    let mut over_since: Option<Instant> = None;
    let mut too_long = false;
    let mut next = Instant::now();
    let left = accompany(&watched, &mut || {
        if over_since.is_none() && Instant::now() >= next {
            next = Instant::now() + PAUSE;
            if play.step()? {
                over_since = Some(Instant::now());
            }
            too_long = play.elapsed() > MOST;
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
