//! The threads of the services: a service that fails or panics is started again, after a pause that
//! doubles.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hermes_telemetry::contained;

use crate::error::StartError;
use crate::health::{HealthBoard, ServiceState};
use crate::live_context::LiveContext;
use crate::service::{HostedService, ServiceHost};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The services of a gateway.
#[derive(Debug)]
pub(crate) struct Supervisor {
    hosts: Vec<Arc<ServiceHost>>,
    threads: Vec<JoinHandle<()>>,
    health: Arc<HealthBoard>,
}

impl Supervisor {
    pub(crate) fn new(health: Arc<HealthBoard>) -> Self {
        Self {
            hosts: Vec::new(),
            threads: Vec::new(),
            health,
        }
    }

    /// Starts a service.
    pub(crate) fn start(
        &mut self,
        service: Box<dyn HostedService>,
        live: &Arc<LiveContext>,
    ) -> Result<(), StartError> {
        let name = service.name();
        let failure = |source| StartError::Thread { name, source };
        let host = Arc::new(ServiceHost::new(name, live, &self.health).map_err(failure)?);
        host.report(ServiceState::Starting, None);
        let own = Arc::clone(&host);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || keep_running(service, &own))
            .map_err(failure)?;
        self.hosts.push(host);
        self.threads.push(thread);
        Ok(())
    }

    /// Waits until every service has begun or failed once.
    pub(crate) fn wait_until_begun(&self, limit: Duration) {
        let late = self.wait_for_none(ServiceState::Starting, limit);
        if !late.is_empty() {
            tracing::warn!(services = late.join(", "), "services take long to start");
        }
    }

    /// Asks every service to begin no new work, or to go on.
    pub(crate) fn drain(&self, is_draining: bool) {
        for host in &self.hosts {
            host.drain(is_draining);
        }
    }

    /// Stops every service; gives the names of those that did not end in time, or before it became
    /// urgent. Their threads end with the process.
    pub(crate) fn stop(self, limit: Duration, is_urgent: &dyn Fn() -> bool) -> Vec<&'static str> {
        for host in &self.hosts {
            host.stop();
        }
        let mut deadline = Instant::now() + limit;
        let mut late = Vec::new();
        for (host, thread) in self.hosts.iter().zip(self.threads) {
            while !thread.is_finished() {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                if is_urgent() {
                    deadline = Instant::now();
                }
                self.health.changed().wait(left.min(LOOK_AGAIN));
                self.health.changed().clear();
            }
            if thread.is_finished() {
                // Its panics were contained and logged.
                drop(thread.join());
            } else {
                late.push(host.name());
            }
        }
        late
    }

    fn wait_for_none(&self, state: ServiceState, limit: Duration) -> Vec<&'static str> {
        let deadline = Instant::now() + limit;
        loop {
            self.health.changed().clear();
            let names = self.health.in_state(state);
            let left = deadline.saturating_duration_since(Instant::now());
            if names.is_empty() || left.is_zero() {
                return names;
            }
            self.health.changed().wait(left);
        }
    }
}

/// A thread says that it is done a moment before it is.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

fn keep_running(mut service: Box<dyn HostedService>, host: &Arc<ServiceHost>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let begun = Instant::now();
        let outcome = contained(|| service.run(host));
        if host.is_stopping() {
            return host.report(ServiceState::Stopped, None);
        }
        let reason = match outcome {
            Ok(Ok(())) => "it ended by itself".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("it panicked: {panic}"),
        };
        if begun.elapsed() > LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        tracing::error!(
            service = host.name(),
            "the service failed and is started again in {} s: {reason}",
            pause.as_secs()
        );
        host.failed(reason);
        if host.pause(pause) {
            return host.report(ServiceState::Stopped, None);
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
#[path = "supervisor_tests.rs"]
mod tests;
