//! The state file, as the main thread of a gateway writes it. A home that cannot be written to is
//! reported once, and again when it can.

use std::path::Path;

use hermes_supervise::{GatewayState, PidRecord, StateFile};
use serde_json::{Value, json};

use crate::health::HealthBoard;

/// What this gateway says of itself.
#[derive(Debug)]
pub(crate) struct ActiveState {
    file: StateFile,
    record: PidRecord,
    state: GatewayState,
    /// What was written last, without what changes every time.
    written: Option<Value>,
    has_failed: bool,
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

    /// Writes how the gateway and its services are, if that has changed.
    pub(crate) fn write(&mut self, health: &HealthBoard, supervised: bool) {
        let (services, platforms) = (health.to_json(), health.platforms());
        let active = health.active();
        let now = json!([self.state.name(), services, platforms, active, supervised]);
        if self.written.as_ref() == Some(&now) {
            return;
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
            self.written = Some(now);
        }
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
