//! The end of a gateway, step by step.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use hermes_proc::{ServiceSignal, first_readable};
use hermes_supervise::GatewayState;

use crate::cause::Cause;
use crate::claimed::{Claimed, VERIFY_EVERY};
use crate::options::Ended;
use crate::supervisor::Supervisor;

/// How long services have to end after the drain.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// An end that takes longer than the drain and this is forced.
const WATCHDOG: Duration = Duration::from_mins(1);

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
        let is_urgent = || {
            let is_urgent = claimed.is_pressed();
            if is_urgent {
                tracing::warn!("one signal more ends the gateway at once");
            }
            is_urgent
        };
        let late = supervisor.stop(STOP_LIMIT, &is_urgent);
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
    /// Whether a signal came that asks a gateway to hurry which is ending already. The one that was
    /// announced with the stop does not.
    fn is_pressed(&self) -> bool {
        let mut signals = self.signals.take();
        if let Some(index) = signals
            .iter()
            .position(|one| *one == ServiceSignal::Terminate)
            && self.awaits_signal.replace(false)
        {
            signals.remove(index);
        }
        signals.into_iter().any(ends)
    }

    /// Waits until no turn is in flight; `false` if that took too long or a second signal came.
    fn drain(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut verify_at = Instant::now() + VERIFY_EVERY;
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
            if Instant::now() >= verify_at {
                verify_at = Instant::now() + VERIFY_EVERY;
                if let Some(cause) = self.verify() {
                    tracing::warn!(active, "turns were cut off: {}", cause.reason());
                    return false;
                }
            }
            let wakes = [self.signals.as_fd(), self.health.changed().as_fd()];
            // Fails for want of memory only; then nothing is waited for.
            if first_readable(&wakes, Some(left.min(VERIFY_EVERY))).is_err() {
                return false;
            }
            if self.is_pressed() {
                tracing::warn!(active, "turns were cut off by a second signal");
                return false;
            }
        }
    }
}

/// Whether a signal asks the gateway to end.
fn ends(signal: ServiceSignal) -> bool {
    signal != ServiceSignal::Reload
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
