//! The process itself: claims the home, starts services, listens, and ends in order.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_config::vars;
use hermes_home::{GatewayMarker, utc_now};
use hermes_proc::{
    FileWatch, ProcessIdentity, ServiceSignal, ServiceSignals, first_readable, identity_of,
};
use hermes_runtime::Context;
use hermes_supervise::{
    ClaimError, DrainRequest, ExitLog, GatewayClaim, GatewayState, PidRecord, Readiness,
    StartLedger,
};
use serde_json::json;

use crate::active_state::ActiveState;
use crate::checks;
use crate::error::StartError;
use crate::health::HealthBoard;
use crate::live_context::{LiveContext, broken_file};
use crate::service::HostedService;
use crate::shutdown::{Cause, Shutdown};
use crate::supervisor::Supervisor;

/// How long services may take before the gateway counts as running without them.
const BEGIN_LIMIT: Duration = Duration::from_secs(30);
/// How often the owner of a home looks whether the home is still its own.
const VERIFY_EVERY: Duration = Duration::from_secs(10);
const HEARTBEAT_EVERY: Duration = Duration::from_secs(30);
/// How often the end of a request to drain is looked for: a removed file tells nobody.
const DRAIN_LOOK: Duration = Duration::from_secs(1);

/// How a gateway is started.
#[derive(Debug, Clone, Copy, Default)]
pub struct GatewayOptions {
    /// Take the place of a gateway that runs.
    pub replace: bool,
    /// Start although the gateway of the default profile serves this one.
    pub force: bool,
    /// Whether somebody starts it again when it asks for that.
    pub is_supervised: bool,
    /// Number of the descriptor on which a newline says that the gateway is ready.
    pub ready_descriptor: Option<u32>,
}

/// How a gateway ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub exit_code: u8,
    pub reason: String,
}

/// A gateway that may start.
#[derive(Debug)]
pub struct Gateway {
    context: Context,
    options: GatewayOptions,
    signals: ServiceSignals,
}

/// A gateway that has claimed its home.
pub(crate) struct Claimed {
    pub(crate) home: PathBuf,
    pub(crate) identity: Option<ProcessIdentity>,
    pub(crate) claim: GatewayClaim,
    pub(crate) state: ActiveState,
    pub(crate) health: Arc<HealthBoard>,
    pub(crate) signals: ServiceSignals,
    pub(crate) readiness: Readiness,
    pub(crate) is_supervised: bool,
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

    fn claim(self, home: &std::path::Path, log: &ExitLog) -> Result<Begun, StartError> {
        let context = self.context;
        let record = PidRecord::own(&context.program.path);
        let claim = GatewayClaim::take(home, record.clone())?;
        log.started();
        tracing::info!(pid = record.pid, "gateway starting");
        let mut state = ActiveState::begin(home, &record);
        if let Some(reason) = broken_file(&context) {
            tracing::error!("config.yaml cannot be used: {reason}");
            state.end(GatewayState::StartupFailed, Some(&reason), false);
            return Err(StartError::Configuration { reason });
        }
        if let Some(pause) = respawn_pause(&context) {
            tracing::warn!(
                "the gateway was started too often; it goes on in {} s",
                pause.as_secs()
            );
            if let Some(ended) = wait_out(pause, &self.signals, home) {
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
fn wait_out(pause: Duration, signals: &ServiceSignals, home: &std::path::Path) -> Option<Ended> {
    let deadline = Instant::now() + pause;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        // Fails for want of memory only; the start goes on.
        if let Ok(None) | Err(_) = first_readable(&[signals.as_fd()], Some(left)) {
            return None;
        }
        for signal in signals.take() {
            if signal != ServiceSignal::Reload {
                let own = identity_of(std::process::id());
                return Some(Cause::of_signal(signal, home, own.as_ref()).ended());
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

impl Claimed {
    pub(crate) fn write_state(&mut self) {
        let services = self.health.to_json();
        let active = self.health.active();
        self.state.write(services, active, self.is_supervised);
    }

    /// Attends to signals, notes and the files of the home until there is a cause to end.
    fn attend(&mut self, live: &LiveContext, supervisor: &Supervisor) -> Cause {
        let request = DrainRequest::of_home(&self.home);
        let stop_note = GatewayMarker::PlannedStop;
        let mut watch = FileWatch::default();
        let mut rounds = Rounds::new(self);
        loop {
            let files = [stop_note.path(&self.home), request.path().to_owned()];
            // Again each time: the home may have been away.
            watch.watch(files.into_iter().collect(), [].into());
            self.health.changed().clear();
            self.follow_drain_request(request.is_active(), supervisor);
            self.write_state();
            if let Some(own) = &self.identity
                && stop_note.take(&self.home, own)
            {
                return Cause::PlannedStop;
            }
            if let Some(cause) = rounds.due(self) {
                return cause;
            }
            for signal in self.signals.take() {
                if signal == ServiceSignal::Reload {
                    live.reload();
                    continue;
                }
                return Cause::of_signal(signal, &self.home, self.identity.as_ref());
            }
            let mut limit = rounds.next();
            if self.state.state() == GatewayState::Draining {
                limit = limit.min(DRAIN_LOOK);
            }
            let wakes = [self.signals.as_fd(), self.health.changed().as_fd()];
            if let Err(error) = watch.wait(&wakes, Some(limit)) {
                return Cause::Broken(format!("could not wait for events: {error}"));
            }
        }
    }

    fn follow_drain_request(&mut self, is_asked: bool, supervisor: &Supervisor) {
        let state = match (is_asked, self.state.state()) {
            (true, GatewayState::Running) => GatewayState::Draining,
            (false, GatewayState::Draining) => GatewayState::Running,
            _ => return,
        };
        tracing::info!(
            "{} on request",
            if is_asked {
                "draining"
            } else {
                "running again"
            }
        );
        self.state.set_state(state);
        supervisor.drain(is_asked);
    }

    /// Looks whether the home is still ours; `Some` if another gateway has it.
    fn verify(&mut self) -> Option<Cause> {
        match self.claim.verify() {
            Ok(()) => None,
            Err(error @ ClaimError::Held { .. }) => Some(Cause::Broken(error.to_string())),
            // Read-only or gone for now; the state file says so in the log.
            Err(ClaimError::File(error)) => {
                tracing::debug!(%error, "could not look after the lock of the gateway");
                None
            }
        }
    }

    /// Lets a supervisor tell a gateway that lives from one that hangs.
    fn write_heartbeat(&self) {
        let directory = self.home.join("state");
        let beat = json!({"pid": std::process::id(), "updated_at": utc_now()}).to_string();
        let written = if self.home.is_dir() {
            hermes_fs::create_dir_all(&directory, 0o700).and_then(|()| {
                let path = directory.join("gateway.heartbeat");
                hermes_fs::write_atomic(&path, beat.as_bytes(), 0o600)
            })
        } else {
            Ok(())
        };
        if let Err(error) = written {
            tracing::debug!(%error, "could not write the heartbeat of the gateway");
        }
    }
}

/// What a gateway does every so often.
struct Rounds {
    verify_at: Instant,
    heartbeat_at: Instant,
    /// When the supervisor wants to hear from us again.
    watchdog_at: Option<Instant>,
    watchdog: Option<Duration>,
}

impl Rounds {
    fn new(claimed: &Claimed) -> Self {
        let now = Instant::now();
        let watchdog = claimed.readiness.interval();
        Self {
            verify_at: now + VERIFY_EVERY,
            heartbeat_at: now,
            watchdog_at: watchdog.map(|_| now),
            watchdog,
        }
    }

    /// Does what is due.
    fn due(&mut self, claimed: &mut Claimed) -> Option<Cause> {
        let now = Instant::now();
        if now >= self.heartbeat_at {
            self.heartbeat_at = now + HEARTBEAT_EVERY;
            claimed.write_heartbeat();
        }
        if let (Some(at), Some(interval)) = (self.watchdog_at, self.watchdog)
            && now >= at
        {
            self.watchdog_at = Some(now + interval);
            claimed.readiness.alive();
        }
        if now < self.verify_at {
            return None;
        }
        self.verify_at = now + VERIFY_EVERY;
        claimed.verify()
    }

    /// How long until something is due.
    fn next(&self) -> Duration {
        let times = [
            Some(self.verify_at),
            Some(self.heartbeat_at),
            self.watchdog_at,
        ];
        let next = times.into_iter().flatten().min();
        next.map_or(VERIFY_EVERY, |at| {
            at.saturating_duration_since(Instant::now())
        })
    }
}
