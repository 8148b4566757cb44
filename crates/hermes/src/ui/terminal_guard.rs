//! The terminal while a list is picked from, whatever signal comes.
//!
//! A signal that ends or pauses the program must find the terminal as it was. One thread listens from
//! the first list on, for the rest of the process: signals that are heard once have lost what they
//! do by themselves.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_proc::{EndSignals, TerminalSignals, Wake, first_readable};

/// Whether others deal with signals that end the program, such as a conversation.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);
/// The list that is shown.
static SHOWN: Mutex<Option<Arc<Guarded>>> = Mutex::new(None);
/// Whether the thread listens.
static LISTENS: Mutex<bool> = Mutex::new(false);

/// A list that is shown, and what it has to do.
pub(super) struct Guarded {
    /// Raised when there is something to do.
    pub(super) signalled: Wake,
    is_pause: AtomicBool,
}

/// What a list has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signalled {
    Leave,
    Pause,
}

impl Guarded {
    /// A list is shown from now on, until [`Guarded::end`].
    pub(super) fn begin() -> io::Result<Arc<Self>> {
        guard_terminal()?;
        let guarded = Arc::new(Self {
            signalled: Wake::new()?,
            is_pause: AtomicBool::new(false),
        });
        *shown() = Some(Arc::clone(&guarded));
        Ok(guarded)
    }

    pub(super) fn end() {
        *shown() = None;
    }

    /// What there is to do, if anything.
    pub(super) fn take(&self) -> Option<Signalled> {
        if !self.signalled.is_raised() {
            return None;
        }
        self.signalled.clear();
        let is_pause = self.is_pause.swap(false, Ordering::SeqCst);
        Some(if is_pause {
            Signalled::Pause
        } else {
            Signalled::Leave
        })
    }
}

/// Whether a conversation deals with end signals from now on.
pub(crate) fn end_signals_are_watched(is_watched: bool) {
    IS_WATCHED.store(is_watched, Ordering::SeqCst);
}

/// Listens from now on.
pub(crate) fn guard_terminal() -> io::Result<()> {
    let mut listens = LISTENS.lock().unwrap_or_else(PoisonError::into_inner);
    if *listens {
        return Ok(());
    }
    let (ends, pauses) = (EndSignals::listen()?, TerminalSignals::listen()?);
    std::thread::Builder::new()
        .name("terminal-guard".to_owned())
        .spawn(move || listen(&ends, &pauses))?;
    *listens = true;
    Ok(())
}

fn listen(ends: &EndSignals, pauses: &TerminalSignals) {
    loop {
        match first_readable(&[ends.as_fd(), pauses.as_fd()], None) {
            Ok(Some(0)) => {
                let Some(signal) = ends.take() else { continue };
                if IS_WATCHED.load(Ordering::SeqCst) {
                    tell(false);
                } else {
                    hermes_chat::restore_terminal();
                    restore();
                    signal.obey();
                }
            }
            Ok(_) => {
                // Whoever has the terminal gives it back first.
                if pauses.take() && !tell(true) && !hermes_chat::has_terminal() {
                    TerminalSignals::pause();
                }
            }
            Err(error) => return tracing::error!(%error, "signals are no longer handled"),
        }
    }
}

/// Tells the list that is shown; `false` if none is.
fn tell(is_pause: bool) -> bool {
    let shown = shown();
    if let Some(guarded) = shown.as_ref() {
        guarded.is_pause.store(is_pause, Ordering::SeqCst);
        guarded.signalled.raise();
    }
    shown.is_some()
}

fn shown() -> MutexGuard<'static, Option<Arc<Guarded>>> {
    // The value is replaced as a whole.
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the terminal back for a list that cannot any more.
fn restore() {
    if shown().is_some() {
        // A terminal that is gone needs nothing.
        drop(crossterm::terminal::disable_raw_mode());
        drop(crossterm::execute!(
            io::stderr(),
            crossterm::cursor::MoveToColumn(0),
            crossterm::terminal::Clear(crossterm::terminal::ClearType::FromCursorDown),
            crossterm::cursor::Show
        ));
    }
}
