//! What happens when somebody asks the program to end while it runs commands.
//!
//! The first signal interrupts: commands are killed with all they started, their results are shown,
//! and the exit code tells of the signal. Whoever does not want to wait for that sends a second one.
//!
//! Where a person talks with the agent the first Ctrl-C is for the turn: it raises the flag and
//! nothing else, whoever runs the turn takes the flag down, and the next Ctrl-C is for the program.

use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hermes_proc::{EndSignal, EndSignals, Wake, first_readable};
use hermes_terminal::local::Terminal;

/// Killing takes three seconds at most; showing what is left should not take long either.
pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// Listens for signals until it is dropped.
pub(crate) struct Ending {
    received: Arc<OnceLock<EndSignal>>,
    /// The next Ctrl-C is for the turn.
    spares_program: Arc<AtomicBool>,
    finished: Arc<Wake>,
}

impl Ending {
    /// From now on a signal raises `interrupt` and ends the commands of `terminal`; `limit` later the
    /// program ends whatever it does.
    pub(super) fn watch(
        terminal: &Arc<Terminal>,
        interrupt: &Arc<Wake>,
        limit: Duration,
    ) -> std::io::Result<Self> {
        let ending = Self {
            received: Arc::default(),
            spares_program: Arc::default(),
            finished: Arc::new(Wake::new()?),
        };
        let watcher = Watcher {
            signals: EndSignals::listen()?,
            received: Arc::clone(&ending.received),
            spares_program: Arc::clone(&ending.spares_program),
            finished: Arc::clone(&ending.finished),
            terminal: Arc::clone(terminal),
            interrupt: Arc::clone(interrupt),
            limit,
        };
        std::thread::Builder::new()
            .name("end-signals".to_owned())
            .spawn(move || watcher.run())?;
        Ok(ending)
    }

    /// The next Ctrl-C only raises the flag.
    pub(crate) fn spare_program(&self) {
        self.spares_program.store(true, Ordering::SeqCst);
    }

    /// Whether the program is to end.
    pub(crate) fn has_come(&self) -> bool {
        self.received.get().is_some()
    }

    /// The exit code of the program: that of the signal if one has come.
    pub(crate) fn exit_code(&self, otherwise: u8) -> ExitCode {
        ExitCode::from(self.code(otherwise))
    }

    /// The same as a number.
    pub(crate) fn code(&self, otherwise: u8) -> u8 {
        let code = self.received.get().map(|signal| signal.exit_code());
        code.unwrap_or(otherwise)
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.finished.raise();
    }
}

struct Watcher {
    signals: EndSignals,
    received: Arc<OnceLock<EndSignal>>,
    spares_program: Arc<AtomicBool>,
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
                    tracing::warn!("the program did not come to its end in time");
                    return self
                        .received
                        .get()
                        .copied()
                        .unwrap_or(EndSignal::Terminate)
                        .obey();
                }
                Err(error) => return tracing::error!(%error, "signals are not heard any more"),
            }
            let Some(signal) = self.signals.take() else {
                continue;
            };
            let is_for_turn = signal == EndSignal::Interrupt
                && self.received.get().is_none()
                && self.spares_program.swap(false, Ordering::SeqCst);
            if is_for_turn {
                self.interrupt.raise();
                continue;
            }
            if self.received.set(signal).is_err() {
                return signal.obey();
            }
            deadline = Some(Instant::now() + self.limit);
            self.interrupt.raise();
            // Raises the flag for commands that nobody in front of a terminal has started; who waits
            // for them waits on.
            self.terminal.shut_down(Duration::ZERO);
        }
    }
}
