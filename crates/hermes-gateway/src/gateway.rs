//! The process itself: claims the home, starts services, listens, and ends in order.

use std::cell::Cell;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_config::vars;
use hermes_proc::{ServiceSignal, ServiceSignals, first_readable, identity_of};
use hermes_runtime::Context;
use hermes_supervise::{
    ClaimError, ExitLog, GatewayClaim, GatewayState, PidRecord, Readiness, StartLedger,
};

use crate::active_state::ActiveState;
use crate::cause::Cause;
use crate::checks;
use crate::claimed::{Claimed, VERIFY_EVERY};
use crate::error::StartError;
use crate::health::HealthBoard;
use crate::live_context::{LiveContext, broken_file};
use crate::options::{Ended, GatewayOptions};
use crate::service::HostedService;
use crate::shutdown::Shutdown;
use crate::supervisor::Supervisor;

/// How long services may take before the gateway counts as running without them.
const BEGIN_LIMIT: Duration = Duration::from_secs(30);

/// A gateway that may start.
#[derive(Debug)]
pub struct Gateway {
    context: Context,
    options: GatewayOptions,
    signals: ServiceSignals,
}

impl Gateway {
    /// Checks whether a gateway may start for the home of this context. With `replace`, ends the one
    /// that runs.
    pub fn prepare(context: &Context, options: GatewayOptions) -> Result<Self, StartError> {
        checks::check(context, &options)?;
        Ok(Self {
            context: context.clone(),
            options,
            signals: ServiceSignals::listen().map_err(StartError::Signals)?,
        })
    }

    /// Hosts these services, started in this order, until something ends the gateway. `on_ready` is
    /// called when all of them have begun.
    pub fn run(
        self,
        services: Vec<Box<dyn HostedService>>,
        on_ready: impl FnOnce(),
    ) -> Result<Ended, StartError> {
        let home = self.context.location.home.clone();
        let is_logged = self.context.env.text(&vars::HERMES_GATEWAY_EXIT_DIAG) != Some("0");
        let log = ExitLog::of_home(&home, is_logged);
        let outcome = self.claim(&home, &log).and_then(|begun| match begun {
            Begun::Ended(ended) => Ok(ended),
            Begun::Claimed(claimed, context) => serve(*claimed, &context, services, on_ready),
        });
        match &outcome {
            Ok(ended) => log.ended(ended.exit_code, &ended.reason),
            // A start that was refused is no run.
            Err(StartError::Claim(_)) => {}
            Err(error) => log.ended(error.exit_code(), &error.to_string()),
        }
        outcome
    }

    fn claim(self, home: &Path, log: &ExitLog) -> Result<Begun, StartError> {
        let context = self.context;
        let record = PidRecord::own(&context.program.path);
        let mut claim = GatewayClaim::take(home, record.clone())?;
        log.started();
        tracing::info!(pid = record.pid, "gateway starting");
        let mut state = ActiveState::begin(home, &record);
        if let Some(reason) = broken_file(&context) {
            let error = StartError::Configuration { reason };
            tracing::error!("{error}");
            state.end(GatewayState::StartupFailed, Some(&error.to_string()), false);
            return Err(error);
        }
        if let Some(pause) = respawn_pause(&context) {
            tracing::warn!(
                "the gateway was started too often; it goes on in {} s",
                pause.as_secs()
            );
            if let Some(ended) = wait_out(pause, &self.signals, home, &mut claim)? {
                state.end(GatewayState::Stopped, Some(&ended.reason), false);
                return Ok(Begun::Ended(ended));
            }
        }
        let health = HealthBoard::new().map_err(StartError::Signals)?;
        let claimed = Claimed {
            home: home.to_owned(),
            identity: identity_of(std::process::id()),
            claim,
            state,
            health: Arc::new(health),
            signals: self.signals,
            readiness: Readiness::new(&context.env, self.options.ready_descriptor),
            is_supervised: self.options.is_supervised,
            awaits_signal: Cell::new(false),
        };
        Ok(Begun::Claimed(Box::new(claimed), Box::new(context)))
    }
}

enum Begun {
    Claimed(Box<Claimed>, Box<Context>),
    /// A signal came while the start was held back.
    Ended(Ended),
}

/// How long this start is held back.
fn respawn_pause(context: &Context) -> Option<Duration> {
    let config = context.config();
    let window = config.number("gateway.respawn_storm.window_seconds");
    let window = Duration::try_from_secs_f64(window.unwrap_or(120.0)).unwrap_or_default();
    let most = config.int("gateway.respawn_storm.max_starts").unwrap_or(5);
    let now = Duration::from_millis(
        u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default(),
    );
    StartLedger::of_home(&context.location.home, most, window).record(now.as_secs_f64())
}

/// Waits; a signal that ends the gateway ends the wait.
fn wait_out(
    pause: Duration,
    signals: &ServiceSignals,
    home: &Path,
    claim: &mut GatewayClaim,
) -> Result<Option<Ended>, StartError> {
    let deadline = Instant::now() + pause;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        // Fails for want of memory only; the start goes on.
        let Ok(readable) = first_readable(&[signals.as_fd()], Some(left.min(VERIFY_EVERY))) else {
            return Ok(None);
        };
        if readable.is_none() {
            match claim.verify() {
                // As while it runs: a disk that cannot be read for now is no other gateway.
                Ok(()) | Err(ClaimError::File(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        for signal in signals.take() {
            if signal != ServiceSignal::Reload {
                let own = identity_of(std::process::id());
                return Ok(Some(Cause::of_signal(signal, home, own.as_ref()).ended()));
            }
        }
    }
}

/// Runs services until a cause to end comes, then ends in order.
fn serve(
    mut claimed: Claimed,
    context: &Context,
    services: Vec<Box<dyn HostedService>>,
    on_ready: impl FnOnce(),
) -> Result<Ended, StartError> {
    // Workers and their terminals are not the supervisor's business.
    let env = context.env.without(&vars::OF_SUPERVISOR);
    let live = Arc::new(LiveContext::new(context.with_env(env)));
    let mut supervisor = Supervisor::new(Arc::clone(&claimed.health));
    for service in services {
        supervisor.start(service, &live)?;
    }
    supervisor.wait_until_begun(BEGIN_LIMIT);
    let clean = claimed.home.join(".clean_shutdown");
    if let Err(error) = hermes_fs::remove_file_if_present(&clean) {
        tracing::debug!(%error, "could not remove the mark of the last clean stop");
    }
    claimed.state.set_state(GatewayState::Running);
    claimed.write_state();
    claimed.readiness.ready();
    tracing::info!("gateway running");
    on_ready();
    let cause = claimed.attend(&live, &supervisor);
    let drain = checks::drain_timeout(&live.get());
    Ok(Shutdown {
        claimed,
        supervisor,
        cause,
        drain,
    }
    .run())
}
