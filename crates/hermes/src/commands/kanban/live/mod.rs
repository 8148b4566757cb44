//! `hermes kanban board`: the whole board on the terminal, kept up to date; printed once where there
//! is no terminal.

mod actions;
mod columns;
mod glyphs;
mod keys;
mod reading;
mod render;
mod screen;
mod view;

use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use hermes_proc::{EndSignal, TerminalSignals, first_readable};
use rustix::stdio::stdin;

use super::session::{BoardSession, Kanban};
use crate::commands::exit;
use crate::error::Result;
use crate::signal_watch::listen_for_signals;
use crate::ui::is_full_terminal;
use columns::{Choice, Snapshot};
use keys::Keyboard;
use reading::{Reading, Subject};
use screen::Screen;
use view::{Step, View};

/// Longest time after which a new size of the terminal and a change of the board are noticed.
const PAUSE: Duration = Duration::from_millis(250);
/// The same where something goes on meanwhile.
const SHORT_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only cards assigned to this profile or lane
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,
    /// Only cards in this namespace
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Print the board once, even on a terminal
    #[arg(long)]
    once: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<ExitCode> {
    let mut session = kanban.open()?;
    let choice = Choice {
        assignee: args.assignee.clone(),
        tenant: args.tenant.clone(),
    };
    if args.json {
        return exit(kanban.json(&Snapshot::take(&session, &choice)?));
    }
    if args.once || !is_full_terminal(&kanban.env) {
        return exit(kanban.out(&Snapshot::take(&session, &choice)?.text()));
    }
    let signal = live(&mut session, &choice, PAUSE, &mut |_| Ok(Looking::On))?;
    Ok(match signal {
        None | Some(EndSignal::Interrupt) => ExitCode::SUCCESS,
        Some(other) => ExitCode::from(other.exit_code()),
    })
}

/// Whether the board is to be shown any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Looking {
    On,
    Enough,
}

/// Work behind the board, which adds lines to the story below it.
pub(in crate::commands) type Meanwhile<'m> = &'m mut dyn FnMut(&mut Vec<String>) -> Result<Looking>;

/// Shows the whole board while `meanwhile` does its work, many times a second; returns the signal
/// that ended it.
pub(in crate::commands) fn accompany(
    session: &mut BoardSession<'_>,
    meanwhile: Meanwhile<'_>,
) -> Result<Option<EndSignal>> {
    live(session, &Choice::default(), SHORT_PAUSE, meanwhile)
}

/// Shows the board until the user leaves it.
fn live(
    session: &mut BoardSession<'_>,
    choice: &Choice,
    pause: Duration,
    meanwhile: Meanwhile<'_>,
) -> Result<Option<EndSignal>> {
    let signals = listen_for_signals()?;
    let pauses = TerminalSignals::listen()?;
    let mut view = View::of(Snapshot::take(session, choice)?);
    let mut seen = session.store.data_version()?;
    let mut screen = Screen::enter(&session.env)?;
    let mut keyboard = Keyboard::default();
    loop {
        let size = Screen::size();
        view.fit(size);
        screen.draw(&render::of(&view, size))?;
        if meanwhile(&mut view.story)? == Looking::Enough {
            return Ok(None);
        }
        let ready = first_readable(&[signals.as_fd(), stdin(), pauses.as_fd()], Some(pause))?;
        if let Some(signal) = signals.take() {
            return Ok(Some(signal));
        }
        if pauses.take() {
            screen.suspend()?;
            continue;
        }
        let mut is_changed = false;
        if ready == Some(1) {
            for key in keyboard.read()? {
                match view.press(key) {
                    Step::Stay => {}
                    Step::Refresh => is_changed = true,
                    Step::Suspend => screen.suspend()?,
                    Step::Leave => return Ok(None),
                    Step::Open(subject) => {
                        let text = actions::text_of(session, &subject);
                        view.reading = Some(Reading::new(subject, &text));
                        view.fit(size);
                    }
                    Step::Act(id, action) => {
                        match actions::act(session, &id, &action) {
                            Ok(done) => view.tell(done, false),
                            Err(error) => view.tell(error.message, true),
                        }
                        is_changed = true;
                    }
                }
            }
            if keyboard.is_over() {
                return Ok(None);
            }
        }
        // In this order: what is written after the look at the number is found next time.
        let now = session.store.data_version()?;
        is_changed |= now != seen;
        seen = now;
        if is_changed {
            view.replace(Snapshot::take(session, choice)?);
        }
        if let Some(reading) = &mut view.reading {
            let is_log = matches!(reading.subject, Subject::Log(_));
            if is_log || (is_changed && reading.subject != Subject::Help) {
                let text = actions::text_of(session, &reading.subject);
                reading.renew(&text);
            }
        }
    }
}
