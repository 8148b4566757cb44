//! The end of a gateway: why, in which order, and with which exit code.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use hermes_home::GatewayMarker;
use hermes_proc::{ProcessIdentity, ServiceSignal, first_readable};
use hermes_supervise::GatewayState;

use crate::gateway::{Claimed, Ended};
use crate::supervisor::Supervisor;

/// How long services have to end after the drain.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// An end that takes longer than the drain and this is forced.
const WATCHDOG: Duration = Duration::from_mins(1);

/// Why a gateway ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Ctrl-C.
    Interrupt,
    /// `hermes gateway stop`.
    PlannedStop,
    /// `hermes gateway run --replace`.
    Takeover,
    /// SIGUSR1: `hermes gateway restart`.
    Restart,
    /// SIGTERM that nobody has announced.
    Unexpected,
    /// It cannot go on.
    Broken(String),
}

impl Cause {
    /// What a signal means; one that was announced is not an accident.
    pub(crate) fn of_signal(
        signal: ServiceSignal,
        home: &Path,
        own: Option<&ProcessIdentity>,
    ) -> Self {
        let is_announced = |marker: GatewayMarker| own.is_some_and(|own| marker.take(home, own));
        match signal {
            ServiceSignal::Interrupt => Self::Interrupt,
            ServiceSignal::Restart => Self::Restart,
            ServiceSignal::Terminate | ServiceSignal::Reload => {
                if is_announced(GatewayMarker::Takeover) {
                    Self::Takeover
                } else if is_announced(GatewayMarker::PlannedStop) {
                    Self::PlannedStop
                } else {
                    log_origin(signal);
                    Self::Unexpected
                }
            }
        }
    }

    fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupt | Self::PlannedStop | Self::Takeover => 0,
            Self::Restart => 75,
            Self::Unexpected | Self::Broken(_) => 1,
        }
    }

    fn reason(&self) -> &str {
        match self {
            Self::Interrupt => "interrupted (SIGINT)",
            Self::PlannedStop => "stopped",
            Self::Takeover => "replaced by another gateway",
            Self::Restart => "restart requested (SIGUSR1)",
            Self::Unexpected => "terminated (SIGTERM) without notice",
            Self::Broken(reason) => reason,
        }
    }

    pub(crate) fn ended(&self) -> Ended {
        Ended {
            exit_code: self.exit_code(),
            reason: self.reason().to_owned(),
        }
    }

    /// The last word in the state file: after an accident the operator still wants a gateway, and
    /// what starts them at boot goes by this. `None` where another gateway owns the file.
    fn last_state(&self) -> Option<GatewayState> {
        match self {
            Self::Unexpected => Some(GatewayState::Running),
            Self::Broken(_) => None,
            Self::Interrupt | Self::PlannedStop | Self::Takeover | Self::Restart => {
                Some(GatewayState::Stopped)
            }
        }
    }
}

/// One line about who may have sent a signal that nobody announced.
fn log_origin(signal: ServiceSignal) {
    let parent = std::os::unix::process::parent_id();
    let words = hermes_proc::command_line(parent).unwrap_or_default();
    let words: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let load = hermes_fs::read_text_capped(Path::new("/proc/loadavg"), 256).unwrap_or_default();
    tracing::warn!(
        signal = signal.name(),
        parent,
        parent_command = words.join(" "),
        load = load.trim(),
        "a signal that nobody announced ends the gateway"
    );
}

/// A gateway that ends.
pub(crate) struct Shutdown {
    pub(crate) claimed: Claimed,
    pub(crate) supervisor: Supervisor,
    pub(crate) cause: Cause,
    /// How long work in flight is waited for.
    pub(crate) drain: Duration,
}

impl Shutdown {
    pub(crate) fn run(self) -> Ended {
        let Self {
            mut claimed,
            supervisor,
            cause,
            drain,
        } = self;
        tracing::info!("gateway stopping: {}", cause.reason());
        force_after(drain + WATCHDOG);
        claimed.readiness.stopping();
        supervisor.drain(true);
        let is_drained = claimed.drain(drain);
        let late = supervisor.stop(STOP_LIMIT);
        if !late.is_empty() {
            tracing::warn!(services = late.join(", "), "services did not end in time");
        }
        if is_drained && late.is_empty() {
            let mark = claimed.home.join(".clean_shutdown");
            if let Err(error) = hermes_fs::touch(&mark, 0o600) {
                tracing::debug!(%error, "could not leave the mark of a clean stop");
            }
        }
        if let Some(state) = cause.last_state() {
            let restart = cause == Cause::Restart;
            claimed.state.end(state, Some(cause.reason()), restart);
        }
        tracing::info!("gateway stopped");
        cause.ended()
    }
}

impl Claimed {
    /// Waits until no turn is in flight; `false` if that took too long or a second signal came.
    fn drain(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut signals = 0;
        self.state.set_state(GatewayState::Draining);
        loop {
            self.health.changed().clear();
            let active = self.health.active();
            let left = deadline.saturating_duration_since(Instant::now());
            if active > 0 || !limit.is_zero() {
                self.write_state();
            }
            if active == 0 {
                return true;
            }
            if left.is_zero() {
                tracing::warn!(
                    active,
                    "turns were cut off: they took longer than agent.restart_drain_timeout"
                );
                return false;
            }
            let wakes = [self.signals.as_fd(), self.health.changed().as_fd()];
            // Fails for want of memory only; then nothing is waited for.
            if first_readable(&wakes, Some(left)).is_err() {
                return false;
            }
            let ends = |signal: &ServiceSignal| *signal != ServiceSignal::Reload;
            signals += self.signals.take().iter().filter(|one| ends(one)).count();
            if signals > 0 {
                tracing::warn!(active, "turns were cut off by a second signal");
                return false;
            }
        }
    }
}

/// Ends the process if its end hangs: whoever waits for it must not wait for ever.
fn force_after(limit: Duration) {
    let forced = move || {
        std::thread::sleep(limit);
        tracing::error!(
            "the gateway did not end in {} s and is forced to",
            limit.as_secs()
        );
        #[expect(
            clippy::exit,
            clippy::disallowed_methods,
            reason = "the main thread hangs and cannot return an exit code"
        )]
        std::process::exit(1);
    };
    let thread = std::thread::Builder::new().name("shutdown-watchdog".to_owned());
    if let Err(error) = thread.spawn(forced) {
        tracing::debug!(%error, "the end of the gateway is not watched");
    }
}
