//! A gateway that has claimed its home, attending to signals, notes and the files of the home until
//! there is a cause to end.

use std::cell::Cell;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_home::{GatewayMarker, utc_now};
use hermes_proc::{
    FileWatch, ProcessIdentity, ServiceSignal, ServiceSignals, give_back_freed_memory,
    give_back_idle_memory,
};
use hermes_supervise::{ClaimError, DrainRequest, GatewayClaim, GatewayState, Readiness};
use serde_json::json;

use crate::active_state::ActiveState;
use crate::cause::Cause;
use crate::health::HealthBoard;
use crate::live_context::LiveContext;
use crate::supervisor::Supervisor;

/// How often the owner of a home looks whether the home is still its own, and says that it lives.
pub(crate) const VERIFY_EVERY: Duration = Duration::from_secs(10);
const HEARTBEAT_EVERY: Duration = Duration::from_secs(30);
/// How long after its start a gateway gives back the memory that the start has taken.
const FIRST_GIVE_BACK: Duration = Duration::from_secs(2);
/// How often a gateway gives back memory.
const GIVE_BACK_EVERY: Duration = Duration::from_secs(30);
/// How often the end of a request to drain is looked for: a removed file tells nobody.
const DRAIN_LOOK: Duration = Duration::from_secs(1);

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
    /// Whether a stop was announced whose signal has not come yet.
    pub(crate) awaits_signal: Cell<bool>,
}

impl Claimed {
    pub(crate) fn write_state(&mut self) -> Option<Duration> {
        let supervised = self.is_supervised;
        self.state.write(&self.health, supervised)
    }

    /// Attends to signals, notes and the files of the home until there is a cause to end.
    pub(crate) fn attend(&mut self, live: &LiveContext, supervisor: &Supervisor) -> Cause {
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
            let put_off = self.write_state();
            if let Some(own) = &self.identity
                && stop_note.take(&self.home, own)
            {
                self.awaits_signal.set(true);
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
            limit = put_off.map_or(limit, |put_off| limit.min(put_off));
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
    pub(crate) fn verify(&mut self) -> Option<Cause> {
        match self.claim.verify() {
            Ok(()) => None,
            Err(error @ (ClaimError::Held { .. } | ClaimError::Elsewhere { .. })) => {
                Some(Cause::Broken(error.to_string()))
            }
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
    give_back_at: Instant,
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
            give_back_at: now + FIRST_GIVE_BACK,
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
        if now >= self.give_back_at {
            self.give_back_at = now + GIVE_BACK_EVERY;
            if claimed.health.active() == 0 {
                give_back_idle_memory();
            } else {
                give_back_freed_memory();
            }
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
            Some(self.give_back_at),
            self.watchdog_at,
        ];
        let next = times.into_iter().flatten().min();
        next.map_or(VERIFY_EVERY, |at| {
            at.saturating_duration_since(Instant::now())
        })
    }
}
