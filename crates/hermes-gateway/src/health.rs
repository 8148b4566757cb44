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

/// Services that count as platforms, which have a place of their own in the state file.
const PLATFORMS: &[&str] = &["api_server"];

/// One service.
#[derive(Debug)]
struct Health {
    state: ServiceState,
    /// Whether only other settings can help.
    is_refused: bool,
    note: Option<String>,
    restarts: u32,
    active: usize,
    updated_at: String,
}

impl Health {
    fn as_platform(&self) -> Value {
        let state = match self.state {
            ServiceState::Starting => "connecting",
            ServiceState::Running => "connected",
            ServiceState::Standby => "disabled",
            ServiceState::Failed if self.is_refused => "fatal",
            ServiceState::Failed => "retrying",
            ServiceState::Stopped => "disconnected",
        };
        let error = self
            .note
            .as_deref()
            .filter(|_| self.state == ServiceState::Failed);
        let is_code = |text: &&str| {
            text.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        let code = error
            .and_then(|error| error.split_once(": "))
            .map(|(code, _)| code)
            .filter(is_code);
        json!({
            "state": state,
            "error_code": code,
            "error_message": error,
            "updated_at": self.updated_at,
        })
    }
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
        self.set(name, state, note, false);
    }

    fn set(&self, name: &'static str, state: ServiceState, note: Option<String>, is_refused: bool) {
        let mut services = self.lock();
        let health = services.entry(name).or_insert_with(|| Health {
            state,
            is_refused,
            note: None,
            restarts: 0,
            active: 0,
            updated_at: utc_now(),
        });
        health.is_refused = is_refused;
        if (health.state, &health.note) == (state, &note) {
            return self.changed.raise();
        }
        health.state = state;
        health.note = note;
        health.updated_at = utc_now();
        self.changed.raise();
    }

    /// The service cannot work with the settings as they are.
    pub(crate) fn refused(&self, name: &'static str, reason: String) {
        self.set(name, ServiceState::Failed, Some(reason), true);
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

    /// The services that are platforms, as the reference writes them.
    pub(crate) fn platforms(&self) -> Value {
        let services = self.lock();
        let platforms = services.iter().filter(|(name, _)| PLATFORMS.contains(name));
        let rows = platforms.map(|(name, health)| ((*name).to_owned(), health.as_platform()));
        Value::Object(rows.collect::<Map<String, Value>>())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Health>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_server_is_a_platform_of_the_state_file() {
        let health = HealthBoard::new().unwrap();
        let now = |key: &str| health.platforms()["api_server"][key].clone();
        health.report("dispatcher", ServiceState::Running, None);
        assert_eq!(health.platforms(), json!({}));
        health.report("api_server", ServiceState::Starting, None);
        assert_eq!(now("state"), "connecting");
        health.refused("api_server", "port_in_use: taken".to_owned());
        assert_eq!(
            (now("state"), now("error_code")),
            (json!("fatal"), json!("port_in_use"))
        );
        assert_eq!(now("error_message"), "port_in_use: taken");
        health.refused("api_server", "it needs a key: set one".to_owned());
        assert_eq!(
            (now("state"), now("error_code")),
            (json!("fatal"), Value::Null)
        );
        health.failed("api_server", "it panicked: x".to_owned());
        assert_eq!(now("state"), "retrying");
        health.report("api_server", ServiceState::Running, None);
        assert_eq!(
            (now("state"), now("error_message")),
            (json!("connected"), Value::Null)
        );
        health.report("api_server", ServiceState::Standby, Some("off".to_owned()));
        assert_eq!(
            (now("state"), now("error_message")),
            (json!("disabled"), Value::Null)
        );
    }
}
