//! What a gateway hosts, and what a hosted service sees of the gateway.

use std::sync::Arc;
use std::time::Duration;

use hermes_proc::Wake;
use hermes_runtime::Context;

use crate::health::{HealthBoard, ServiceState};
use crate::live_context::LiveContext;

/// Why a service ended before it was asked to.
pub type ServiceError = Box<dyn std::error::Error + Send + Sync>;

/// A part of the gateway that works by itself.
pub trait HostedService: Send {
    /// Its name in the log and in the state file.
    fn name(&self) -> &'static str;

    /// Works until [`ServiceHost::is_stopping`], on a thread of its own. A service that returns
    /// earlier or panics is started again. What it keeps in `self` survives that.
    fn run(&mut self, host: &Arc<ServiceHost>) -> Result<(), ServiceError>;
}

/// The gateway, as one service sees it.
#[derive(Debug)]
pub struct ServiceHost {
    name: &'static str,
    live: Arc<LiveContext>,
    health: Arc<HealthBoard>,
    stop: Wake,
    wake: Arc<Wake>,
    drain: Wake,
}

impl ServiceHost {
    pub(crate) fn new(
        name: &'static str,
        live: &Arc<LiveContext>,
        health: &Arc<HealthBoard>,
    ) -> std::io::Result<Self> {
        let wake = Arc::new(Wake::new()?);
        live.listen(&wake);
        Ok(Self {
            name,
            live: Arc::clone(live),
            health: Arc::clone(health),
            stop: Wake::new()?,
            wake,
            drain: Wake::new()?,
        })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The settings in effect now.
    pub fn context(&self) -> Arc<Context> {
        self.live.get()
    }

    /// The settings, for the service that reads them again.
    pub fn live_context(&self) -> &LiveContext {
        &self.live
    }

    /// A flag that goes up when settings change, when the gateway begins or ceases to drain, and when
    /// it stops. Whoever has looked takes it down.
    pub fn wake(&self) -> &Wake {
        &self.wake
    }

    /// Whether the service has to end.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_raised()
    }

    /// Whether no new work is to be begun.
    pub fn is_draining(&self) -> bool {
        self.drain.is_raised()
    }

    /// Waits; `true` if the service has to end.
    pub fn pause(&self, limit: Duration) -> bool {
        self.stop.wait(limit)
    }

    /// The service does its work.
    pub fn serving(&self) {
        self.report(ServiceState::Running, None);
    }

    /// The service has nothing to do, for this reason.
    pub fn standing_by(&self, reason: &str) {
        self.report(ServiceState::Standby, Some(reason.to_owned()));
    }

    /// The service cannot do its work until the settings change, for this reason.
    pub fn unable(&self, reason: &str) {
        self.health.refused(self.name, reason.to_owned());
    }

    /// How many turns of a model the service has in flight. A stopping gateway waits for them.
    pub fn set_active(&self, turns: usize) {
        self.health.set_active(self.name, turns);
    }

    pub(crate) fn report(&self, state: ServiceState, note: Option<String>) {
        self.health.report(self.name, state, note);
    }

    pub(crate) fn failed(&self, reason: String) {
        self.health.failed(self.name, reason);
    }

    pub(crate) fn drain(&self, is_draining: bool) {
        if is_draining {
            self.drain.raise();
        } else {
            self.drain.clear();
        }
        self.wake.raise();
    }

    pub(crate) fn stop(&self) {
        self.stop.raise();
        self.wake.raise();
    }
}
