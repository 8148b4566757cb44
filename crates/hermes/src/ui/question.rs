//! Questions at the terminal this program was started from, with a timeout.
//!
//! Only an answer typed after the question counts. Silence, the end of input, an interrupt and a
//! question that cannot be shown give no answer.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_proc::{Wake, first_readable};
use hermes_secret::SecretString;
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::stdio::{stderr, stdin};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, isatty, tcflush, tcgetattr, tcgetpgrp,
    tcsetattr,
};
use zeroize::Zeroizing;

use super::Printer;

/// Longest answer that is read.
const MAX_ANSWER: usize = 4096;

/// Whether the answer is shown while it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    On,
    /// For passwords.
    Off,
}

/// Asks at the terminal, one question at a time.
#[derive(Debug)]
pub(crate) struct TerminalQuestions {
    printer: Printer,
    /// Withdraws the question.
    interrupt: Arc<Wake>,
    turn: Mutex<()>,
}

impl TerminalQuestions {
    /// `None` unless questions can be shown and answers typed.
    pub(crate) fn new(printer: Printer, interrupt: &Arc<Wake>) -> Option<Self> {
        (isatty(stdin()) && isatty(stderr())).then(|| Self {
            printer,
            interrupt: Arc::clone(interrupt),
            turn: Mutex::new(()),
        })
    }

    /// Shows a question and waits for a line.
    pub(crate) fn ask(&self, question: &str, limit: Duration, echo: Echo) -> Option<SecretString> {
        // The lock guards no data; a panic while asking leaves nothing broken.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // In the background of a shell a read would stop the program, and nobody would know why.
        if tcgetpgrp(stdin()).ok() != Some(getpgrp()) {
            return None;
        }
        let _usual = hermes_chat::usual_terminal();
        let hidden = match echo {
            Echo::On => None,
            Echo::Off => Some(Hidden::from_now(stdin())?),
        };
        // What was typed before the question is no answer to it.
        tcflush(stdin(), QueueSelector::IFlush).ok()?;
        self.printer.err(question).ok()?;
        let answer = self.line(Instant::now() + limit);
        drop(hidden);
        if answer.is_none() || echo == Echo::Off {
            // The cursor stands behind the question; a failure here changes no answer.
            drop(self.printer.err("\n"));
        }
        answer
    }

    fn line(&self, deadline: Instant) -> Option<SecretString> {
        // Read into room that is there already: a buffer that grows leaves a copy behind.
        let mut typed = Zeroizing::new(vec![0; MAX_ANSWER]);
        let mut end = 0;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let sources = [self.interrupt.as_fd(), stdin()];
            match first_readable(&sources, Some(left)) {
                Ok(Some(1)) => {}
                Ok(_) | Err(_) => return None,
            }
            match rustix::io::read(stdin(), typed.get_mut(end..)?) {
                // The end of input, or an answer that does not end.
                Ok(0) => return None,
                Ok(count) => end += count,
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(_) => return None,
            }
            if let Some(line) = typed.get(..end)?.strip_suffix(b"\n") {
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                return std::str::from_utf8(line).ok().map(SecretString::from);
            }
        }
    }
}

/// A terminal that does not show what is typed; shows it again when this is dropped.
struct Hidden {
    terminal: BorrowedFd<'static>,
    before: Termios,
}

impl Hidden {
    /// `None` if it cannot be had: then nothing secret is asked for.
    fn from_now(terminal: BorrowedFd<'static>) -> Option<Self> {
        let before = tcgetattr(terminal).ok()?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO);
        tcsetattr(terminal, OptionalActions::Drain, &modes).ok()?;
        Some(Self { terminal, before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A terminal that is gone needs no echo.
        let _: Result<(), Errno> = tcsetattr(self.terminal, OptionalActions::Drain, &self.before);
    }
}
