//! Why a gateway ends: its exit code, its reason, and its last word in the state file.

use std::path::Path;

use hermes_home::GatewayMarker;
use hermes_proc::{ProcessIdentity, ServiceSignal};
use hermes_supervise::GatewayState;

use crate::options::Ended;

/// Why a gateway ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Ctrl-C.
    Interrupt,
    /// `hermes gateway stop`.
    PlannedStop,
    /// `hermes gateway run --replace`.
    Takeover,
    /// SIGUSR1: `hermes gateway restart`.
    Restart,
    /// SIGTERM that nobody has announced.
    Unexpected,
    /// It cannot go on.
    Broken(String),
}

impl Cause {
    /// What a signal means; one that was announced is not an accident.
    pub(crate) fn of_signal(
        signal: ServiceSignal,
        home: &Path,
        own: Option<&ProcessIdentity>,
    ) -> Self {
        let is_announced = |marker: GatewayMarker| own.is_some_and(|own| marker.take(home, own));
        match signal {
            ServiceSignal::Interrupt => Self::Interrupt,
            ServiceSignal::Restart => Self::Restart,
            ServiceSignal::Terminate | ServiceSignal::Reload => {
                if is_announced(GatewayMarker::Takeover) {
                    Self::Takeover
                } else if is_announced(GatewayMarker::PlannedStop) {
                    Self::PlannedStop
                } else {
                    log_origin(signal);
                    Self::Unexpected
                }
            }
        }
    }

    fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupt | Self::PlannedStop | Self::Takeover => 0,
            Self::Restart => 75,
            Self::Unexpected | Self::Broken(_) => 1,
        }
    }

    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Interrupt => "interrupted (SIGINT)",
            Self::PlannedStop => "stopped",
            Self::Takeover => "replaced by another gateway",
            Self::Restart => "restart requested (SIGUSR1)",
            Self::Unexpected => "terminated (SIGTERM) without notice",
            Self::Broken(reason) => reason,
        }
    }

    pub(crate) fn ended(&self) -> Ended {
        Ended {
            exit_code: self.exit_code(),
            reason: self.reason().to_owned(),
        }
    }

    /// The last word in the state file: after an accident the operator still wants a gateway, and
    /// what starts them at boot goes by this. `None` where another gateway owns the file.
    pub(crate) fn last_state(&self) -> Option<GatewayState> {
        match self {
            Self::Unexpected => Some(GatewayState::Running),
            Self::Broken(_) => None,
            Self::Interrupt | Self::PlannedStop | Self::Takeover | Self::Restart => {
                Some(GatewayState::Stopped)
            }
        }
    }
}

/// One line about who may have sent a signal that nobody announced.
fn log_origin(signal: ServiceSignal) {
    let parent = std::os::unix::process::parent_id();
    let words = hermes_proc::command_line(parent).unwrap_or_default();
    let words: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let load = hermes_fs::read_text_capped(Path::new("/proc/loadavg"), 256).unwrap_or_default();
    tracing::warn!(
        signal = signal.name(),
        parent,
        parent_command = words.join(" "),
        load = load.trim(),
        "a signal that nobody announced ends the gateway"
    );
}
