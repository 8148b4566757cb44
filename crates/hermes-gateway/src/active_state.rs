//! The state file, as the main thread of a gateway writes it. A home that cannot be written to is
//! reported once, and again when it can.

use std::path::Path;
use std::time::{Duration, Instant};

use hermes_supervise::{GatewayState, PidRecord, StateFile};
use serde_json::{Value, json};

use crate::health::HealthBoard;

/// Turns come and go many times a second, and each write waits for the disk, which turns wait for as
/// well: a mere count of them is written once it has been another for this long.
const COUNT_PAUSE: Duration = Duration::from_millis(250);

/// What this gateway says of itself.
#[derive(Debug)]
pub(crate) struct ActiveState {
    file: StateFile,
    record: PidRecord,
    state: GatewayState,
    /// What was written last, without what changes every time.
    written: Option<Written>,
    /// Since when the count of turns is not the one that was written.
    count_differs: Option<Instant>,
    has_failed: bool,
}

#[derive(Debug)]
struct Written {
    state: Value,
    active: usize,
}

impl ActiveState {
    pub(crate) fn begin(home: &Path, record: &PidRecord) -> Self {
        let mut this = Self {
            file: StateFile::of_home(home),
            record: record.clone(),
            state: GatewayState::Starting,
            written: None,
            count_differs: None,
            has_failed: false,
        };
        let begun = this.file.begin(record);
        this.note(begun);
        this
    }

    pub(crate) fn state(&self) -> GatewayState {
        self.state
    }

    pub(crate) fn set_state(&mut self, state: GatewayState) {
        self.state = state;
    }

    /// Writes how the gateway and its services are, if that has changed. Gives when to call it again
    /// for what was put off.
    pub(crate) fn write(&mut self, health: &HealthBoard, supervised: bool) -> Option<Duration> {
        let (services, platforms) = (health.to_json(), health.platforms());
        let active = health.active();
        let state = json!([self.state.name(), services, platforms, supervised]);
        if let Some(written) = self.written.as_ref().filter(|one| one.state == state) {
            if written.active == active {
                self.count_differs = None;
                return None;
            }
            let since = self.count_differs.get_or_insert_with(Instant::now);
            let pause = COUNT_PAUSE.saturating_sub(since.elapsed());
            if !pause.is_zero() {
                return Some(pause);
            }
        }
        let outcome = self.file.update(
            &self.record,
            [
                ("gateway_state", json!(self.state.name())),
                ("services", services),
                ("platforms", platforms),
                ("active_agents", json!(active)),
                ("supervised", json!(supervised)),
            ],
        );
        if self.note(outcome) {
            self.written = Some(Written { state, active });
            self.count_differs = None;
        }
        None
    }

    /// Writes the last word of the gateway.
    pub(crate) fn end(&mut self, state: GatewayState, reason: Option<&str>, restart: bool) {
        self.state = state;
        let outcome = self.file.update(
            &self.record,
            [
                ("gateway_state", json!(state.name())),
                ("exit_reason", json!(reason)),
                ("restart_requested", json!(restart)),
                ("active_agents", json!(0)),
                ("services", json!({})),
                ("platforms", json!({})),
            ],
        );
        self.note(outcome);
    }

    fn note(&mut self, outcome: hermes_fs::Result<()>) -> bool {
        match outcome {
            Ok(()) => {
                if self.has_failed {
                    tracing::info!("the state file of the gateway can be written again");
                }
                self.has_failed = false;
                true
            }
            Err(error) => {
                if !self.has_failed {
                    tracing::error!(%error, "could not write the state of the gateway, which goes on");
                }
                self.has_failed = true;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::ServiceState;

    #[test]
    fn count_of_turns_is_written_only_if_it_lasts() {
        let home = tempfile::tempdir().unwrap();
        let health = HealthBoard::new().unwrap();
        health.report("api_server", ServiceState::Running, None);
        let mut state = ActiveState::begin(home.path(), &PidRecord::own(Path::new("hermes")));
        assert_eq!(state.write(&health, false), None);
        let file = StateFile::of_home(home.path());
        let count = || file.read().unwrap()["active_agents"].clone();
        health.set_active("api_server", 2);
        assert!(state.write(&health, false).is_some());
        health.set_active("api_server", 0);
        assert_eq!((state.write(&health, false), count()), (None, json!(0)));
        health.set_active("api_server", 3);
        while let Some(put_off) = state.write(&health, false) {
            assert_eq!(count(), 0);
            std::thread::sleep(put_off);
        }
        assert_eq!(count(), 3);
    }
}
