//! How the services are, for the state file.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hermes_home::utc_now;
use hermes_proc::Wake;
use hermes_text::named_enum;
use serde_json::{Map, Value, json};

named_enum! {
    /// The states of a service.
    pub(crate) enum ServiceState {
        Starting = "starting",
        Running = "running",
        /// Has nothing to do for now, and says why.
        Standby = "standby",
        /// Has failed and is started again after a pause.
        Failed = "failed",
        Stopped = "stopped",
    }
}

/// One service.
#[derive(Debug)]
struct Health {
    state: ServiceState,
    note: Option<String>,
    restarts: u32,
    active: usize,
    updated_at: String,
}

/// All services. Only the main thread writes the state file; this tells it when.
#[derive(Debug)]
pub(crate) struct HealthBoard {
    services: Mutex<BTreeMap<&'static str, Health>>,
    changed: Wake,
}

impl HealthBoard {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            services: Mutex::default(),
            changed: Wake::new()?,
        })
    }

    /// Goes up with every change.
    pub(crate) fn changed(&self) -> &Wake {
        &self.changed
    }

    pub(crate) fn report(&self, name: &'static str, state: ServiceState, note: Option<String>) {
        let mut services = self.lock();
        let health = services.entry(name).or_insert_with(|| Health {
            state,
            note: None,
            restarts: 0,
            active: 0,
            updated_at: utc_now(),
        });
        if (health.state, &health.note) == (state, &note) {
            return self.changed.raise();
        }
        health.state = state;
        health.note = note;
        health.updated_at = utc_now();
        self.changed.raise();
    }

    pub(crate) fn failed(&self, name: &'static str, reason: String) {
        self.report(name, ServiceState::Failed, Some(reason));
        let mut services = self.lock();
        if let Some(health) = services.get_mut(name) {
            health.restarts = health.restarts.saturating_add(1);
            // Whatever it had begun is gone.
            health.active = 0;
        }
        self.changed.raise();
    }

    pub(crate) fn set_active(&self, name: &'static str, turns: usize) {
        let mut services = self.lock();
        if let Some(health) = services
            .get_mut(name)
            .filter(|health| health.active != turns)
        {
            health.active = turns;
            self.changed.raise();
        }
    }

    /// Turns in flight.
    pub(crate) fn active(&self) -> usize {
        self.lock().values().map(|health| health.active).sum()
    }

    /// Services in this state.
    pub(crate) fn in_state(&self, state: ServiceState) -> Vec<&'static str> {
        let services = self.lock();
        let found = services.iter().filter(|(_, health)| health.state == state);
        found.map(|(name, _)| *name).collect()
    }

    pub(crate) fn to_json(&self) -> Value {
        let services = self.lock();
        let rows = services.iter().map(|(name, health)| {
            let row = json!({
                "state": health.state.name(),
                "note": health.note,
                "restarts": health.restarts,
                "updated_at": health.updated_at,
            });
            ((*name).to_owned(), row)
        });
        Value::Object(rows.collect::<Map<String, Value>>())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Health>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
