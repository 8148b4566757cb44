//! Removes containers that lost workers left behind, on a thread of its own.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use hermes_board::dispatch::AfterLoss;
use hermes_docker::sweep_ownerless;
use hermes_home::ProfileName;

use super::choice::live_environment;
use super::docker::docker_host;
use crate::context::Context;
use crate::person::{Nobody, Person};

/// Removes containers of profiles whose workers are gone. A clone is the same sweep.
#[derive(Clone)]
pub struct OrphanSweep {
    context: Arc<Context>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Profiles to sweep.
    waiting: BTreeSet<ProfileName>,
    /// Whether the sweeper runs; one at a time, however slow the engine is.
    is_busy: bool,
    sweeper: Option<JoinHandle<()>>,
}

impl OrphanSweep {
    /// A sweep of the installation that this profile belongs to.
    pub fn new(context: &Context) -> Self {
        Self {
            context: Arc::new(context.clone()),
            state: Arc::default(),
        }
    }

    /// What a dispatcher calls after the loss of workers.
    pub fn after_loss(&self) -> AfterLoss {
        let sweep = self.clone();
        Arc::new(move |profile| sweep.begin(profile))
    }

    /// Queues the containers of a profile and returns at once.
    pub fn begin(&self, profile: &ProfileName) {
        let mut state = self.lock();
        state.waiting.insert(profile.clone());
        if state.is_busy {
            return;
        }
        let sweep = self.clone();
        let started = std::thread::Builder::new()
            .name("orphaned-containers".to_owned())
            .spawn(move || sweep.work());
        match started {
            Ok(thread) => {
                state.is_busy = true;
                state.sweeper = Some(thread);
            }
            Err(error) => tracing::warn!(%error, "could not look for containers of lost workers"),
        }
    }

    /// Waits for the running sweep, for a process that is about to end.
    pub fn finish(&self) {
        let sweeper = self.lock().sweeper.take();
        if let Some(thread) = sweeper
            && thread.join().is_err()
        {
            tracing::warn!("the sweep of containers of lost workers panicked");
        }
    }

    fn work(&self) {
        loop {
            let next = {
                let mut state = self.lock();
                let next = state.waiting.pop_first();
                state.is_busy = next.is_some();
                next
            };
            let Some(profile) = next else { return };
            self.sweep(&profile);
        }
    }

    fn sweep(&self, profile: &ProfileName) {
        let home = self.context.location.profile_home(profile);
        let mut context = self.context.in_home(&home);
        context.current = Some(profile.clone());
        if context.config().text("terminal.backend").trim() != "docker" {
            return;
        }
        let nobody: Arc<dyn Person> = Arc::new(Nobody);
        match docker_host(&context, &live_environment(&context), &nobody) {
            Ok(host) => {
                let reaped = sweep_ownerless(&host);
                tracing::debug!(reaped, home = %home.display(), "containers of lost workers");
            }
            Err(error) => tracing::debug!(%error, "could not look for containers of lost workers"),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
