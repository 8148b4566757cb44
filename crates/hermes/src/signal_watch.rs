//! End signals (SIGINT, SIGTERM, SIGHUP) while the program runs commands.
//!
//! The first signal interrupts: commands are killed with all they started, their results are shown,
//! and the exit code is that of the signal. A second signal ends the program at once.
//!
//! In an interactive conversation the first Ctrl-C is for the turn: it raises the interrupt and
//! nothing else, the line loop clears the interrupt, and the next Ctrl-C is for the program.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hermes_proc::{EndSignal, EndSignals, Wake, first_readable};
use hermes_runtime::TerminalSetup;
use hermes_terminal::Terminal;

use crate::error::{CommandError, Result};
use crate::ui::end_signals_are_watched;

/// Time from the signal to the end: killing takes three seconds at most, showing the rest not long.
pub(crate) const END_LIMIT: Duration = Duration::from_secs(10);

/// End signals, from now on.
pub(crate) fn listen_for_signals() -> Result<EndSignals> {
    EndSignals::listen().map_err(unheard)
}

fn unheard(error: std::io::Error) -> CommandError {
    CommandError::environment(format!("could not listen for signals: {error}"))
}

/// Calls `work` with a flag that the first end signal raises; the second ends the program.
pub(crate) fn interruptible<T>(work: impl FnOnce(&Arc<Wake>) -> T) -> Result<T> {
    let interrupt = Arc::new(Wake::new().map_err(unheard)?);
    let finished = Wake::new().map_err(unheard)?;
    let signals = listen_for_signals()?;
    Ok(std::thread::scope(|scope| {
        let (interrupt, finished) = (&interrupt, &finished);
        scope.spawn(move || {
            // Without the listener a signal ends the program, as it would otherwise.
            while let Ok(Some(0)) = first_readable(&[signals.as_fd(), finished.as_fd()], None) {
                match signals.take() {
                    None => {}
                    Some(signal) if interrupt.is_raised() => end_now(signal),
                    Some(_) => interrupt.raise(),
                }
            }
        });
        let done = work(interrupt);
        finished.raise();
        done
    }))
}

/// Handles end signals until it is dropped.
pub(crate) struct SignalWatch {
    received: Arc<OnceLock<EndSignal>>,
    /// Whether the next Ctrl-C is for the turn.
    next_is_for_turn: Arc<AtomicBool>,
    finished: Arc<Wake>,
}

impl SignalWatch {
    /// Handles signals from now on: they interrupt the commands of this terminal, and the program
    /// ends
    /// within `limit`.
    pub(crate) fn start(setup: &TerminalSetup, limit: Duration) -> Result<Self> {
        let watch = Self {
            received: Arc::default(),
            next_is_for_turn: Arc::default(),
            finished: Arc::new(Wake::new().map_err(unheard)?),
        };
        let watcher = Watcher {
            signals: listen_for_signals()?,
            received: Arc::clone(&watch.received),
            next_is_for_turn: Arc::clone(&watch.next_is_for_turn),
            finished: Arc::clone(&watch.finished),
            terminal: Arc::clone(setup.terminal()),
            interrupt: Arc::clone(setup.interrupt()),
            limit,
        };
        std::thread::Builder::new()
            .name("end-signals".to_owned())
            .spawn(move || watcher.run())
            .map_err(unheard)?;
        end_signals_are_watched(true);
        Ok(watch)
    }

    /// Makes the next Ctrl-C interrupt the turn only.
    pub(crate) fn next_interrupts_turn(&self) {
        self.next_is_for_turn.store(true, Ordering::SeqCst);
    }

    /// Whether a signal has asked the program to end.
    pub(crate) fn is_ending(&self) -> bool {
        self.received.get().is_some()
    }

    /// The same question, for other threads.
    pub(crate) fn ending(&self) -> Arc<dyn Fn() -> bool + Send + Sync> {
        let received = Arc::clone(&self.received);
        Arc::new(move || received.get().is_some())
    }

    /// The exit code of the program: that of the signal if one has come.
    pub(crate) fn exit_code(&self, otherwise: u8) -> u8 {
        let code = self.received.get().map(|signal| signal.exit_code());
        code.unwrap_or(otherwise)
    }
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        end_signals_are_watched(false);
        self.finished.raise();
    }
}

struct Watcher {
    signals: EndSignals,
    received: Arc<OnceLock<EndSignal>>,
    next_is_for_turn: Arc<AtomicBool>,
    finished: Arc<Wake>,
    terminal: Arc<Terminal>,
    interrupt: Arc<Wake>,
    limit: Duration,
}

impl Watcher {
    fn run(&self) {
        let mut deadline: Option<Instant> = None;
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let sources = [self.finished.as_fd(), self.signals.as_fd()];
            match first_readable(&sources, left) {
                Ok(Some(0)) => return,
                Ok(Some(_)) => {}
                Ok(None) => {
                    tracing::warn!("the program did not exit in time");
                    let signal = self.received.get().copied();
                    return end_now(signal.unwrap_or(EndSignal::Terminate));
                }
                Err(error) => return tracing::error!(%error, "signals are no longer handled"),
            }
            let Some(signal) = self.signals.take() else {
                continue;
            };
            let is_for_turn = signal == EndSignal::Interrupt
                && self.received.get().is_none()
                && self.next_is_for_turn.swap(false, Ordering::SeqCst);
            if is_for_turn {
                self.interrupt.raise();
                continue;
            }
            if self.received.set(signal).is_err() {
                return end_now(signal);
            }
            deadline = Some(Instant::now() + self.limit);
            self.interrupt.raise();
            // Commands without an interrupt of their own end too; nothing waits for them here.
            self.terminal.shut_down(Duration::ZERO);
        }
    }
}

/// Ends the process, and leaves the terminal as it was found.
fn end_now(signal: EndSignal) {
    hermes_chat::restore_terminal();
    signal.obey();
}
