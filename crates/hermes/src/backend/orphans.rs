//! Containers that lost workers left behind: removed beside everything else, and never in its way.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use hermes_board::dispatch::AfterLoss;
use hermes_config::{Config, Environment, Sources, vars};
use hermes_docker::{DockerHost, HostFacts, Unobserved, sweep_ownerless};
use hermes_home::{Location, ProfileName, SystemFacts};
use hermes_terminal::environment::{EnvironmentFacts, LiveEnvironment};

use crate::context::Context;

/// Removes containers of profiles whose workers are gone. A clone is the same sweep.
#[derive(Clone)]
pub(crate) struct OrphanSweep {
    env: Environment,
    system: SystemFacts,
    location: Location,
    facts: EnvironmentFacts,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Profiles that nobody has looked at yet.
    waiting: BTreeSet<ProfileName>,
    /// Whether somebody looks; one at a time, however slow the engine is.
    is_busy: bool,
    sweeper: Option<JoinHandle<()>>,
}

impl OrphanSweep {
    pub(crate) fn of(context: &Context) -> Self {
        Self {
            env: context.env.clone(),
            system: context.system.clone(),
            location: context.location.clone(),
            facts: context.environment_facts(),
            state: Arc::default(),
        }
    }

    /// What a dispatcher calls after the loss of workers.
    pub(crate) fn after_loss(&self) -> AfterLoss {
        let sweep = self.clone();
        Arc::new(move |profile| sweep.begin(profile))
    }

    /// Has the containers of a profile looked at, and returns at once.
    fn begin(&self, profile: &ProfileName) {
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
            Err(error) => tracing::warn!(%error, "no look at containers of lost workers"),
        }
    }

    /// Waits for what has begun. For those who are about to end.
    pub(crate) fn finish(&self) {
        let sweeper = self.lock().sweeper.take();
        if let Some(thread) = sweeper
            && thread.join().is_err()
        {
            tracing::warn!("the look at containers of lost workers broke off");
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
        let home = &self.location.profile_home(profile);
        let env = self.env.with(&vars::HERMES_HOME, home.as_os_str());
        let sources = Sources::new(&env, home);
        let config = Config::load_read_only(&sources);
        if config.text("terminal.backend").trim() != "docker" {
            return;
        }
        let environment = Arc::new(LiveEnvironment::new(sources, self.facts.clone()));
        let facts = HostFacts {
            hermes_home: home.clone(),
            profile: profile.to_string(),
            user_home: self.location.user_home.clone(),
            start_directory: self.system.start_dir.clone(),
            is_container: self.facts.is_container,
            file_system_root: self.system.file_system_root.clone(),
        };
        match DockerHost::new(&config, environment, facts, Arc::new(Unobserved)) {
            Ok(host) => {
                let reaped = sweep_ownerless(&host);
                tracing::debug!(reaped, home = %home.display(), "containers of lost workers");
            }
            Err(error) => tracing::debug!(%error, "no look at containers of lost workers"),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
