//! The state file, as the main thread of a gateway writes it. A home that cannot be written to is
//! reported once, and again when it can.

use std::path::Path;
use std::time::{Duration, Instant};

use hermes_supervise::{GatewayState, PidRecord, StateFile};
use serde_json::{Value, json};

use crate::health::HealthBoard;

/// Turns come and go many times a second, and each write waits for the disk: a mere count of them is
/// written after this time at the earliest.
const COUNT_PAUSE: Duration = Duration::from_millis(250);

/// What this gateway says of itself.
#[derive(Debug)]
pub(crate) struct ActiveState {
    file: StateFile,
    record: PidRecord,
    state: GatewayState,
    /// What was written last, without what changes every time.
    written: Option<Written>,
    has_failed: bool,
}

#[derive(Debug)]
struct Written {
    state: Value,
    active: usize,
    at: Instant,
}

impl ActiveState {
    pub(crate) fn begin(home: &Path, record: &PidRecord) -> Self {
        let mut this = Self {
            file: StateFile::of_home(home),
            record: record.clone(),
            state: GatewayState::Starting,
            written: None,
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
            let pause = COUNT_PAUSE.saturating_sub(written.at.elapsed());
            if written.active == active {
                return None;
            }
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
            let at = Instant::now();
            self.written = Some(Written { state, active, at });
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
