//! Why a gateway does not start.

use hermes_supervise::ClaimError;

/// The configuration is at fault; a supervisor must not try again.
const BAD_CONFIGURATION: u8 = 78;

/// A gateway that did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("refusing to run the gateway as root in the container image")]
    Root,
    #[error("the gateway of the default profile (PID {pid}) already serves profile '{profile}'")]
    Multiplexed { profile: String, pid: u32 },
    #[error("another gateway is already running for this home (PID {pid})")]
    AlreadyRunning { pid: u32 },
    #[error("the gateway with PID {pid} could not be replaced: {reason}")]
    NotReplaced { pid: u32, reason: String },
    #[error("config.yaml cannot be used: {reason}")]
    Configuration { reason: String },
    #[error(transparent)]
    Claim(#[from] ClaimError),
    #[error("could not listen for signals: {0}")]
    Signals(std::io::Error),
    #[error("could not start the service {name}: {source}")]
    Thread {
        name: &'static str,
        source: std::io::Error,
    },
}

impl StartError {
    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            // To try again is no use either while the other one lives.
            Self::Configuration { .. } | Self::Claim(ClaimError::Elsewhere { .. }) => {
                BAD_CONFIGURATION
            }
            _ => 1,
        }
    }

    /// Whether a supervisor may start the gateway again.
    pub fn is_worth_another_try(&self) -> bool {
        self.exit_code() != BAD_CONFIGURATION
    }

    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        let fixed = match self {
            Self::Root => {
                "files of root in the home lock out the user hermes; start the container with its \
                 own entry point, or set HERMES_ALLOW_ROOT_GATEWAY=1"
            }
            Self::Multiplexed { .. } => "`--force` starts a second one for this profile",
            Self::AlreadyRunning { .. } | Self::Claim(ClaimError::Held { .. }) => {
                "`hermes gateway restart` restarts it, `hermes gateway stop` stops it, \
                 `hermes gateway run --replace` takes its place"
            }
            Self::Claim(ClaimError::Elsewhere { .. }) => {
                "a home has one gateway: stop that one first, or give this one a home or a volume \
                 of its own"
            }
            Self::Configuration { .. } => "`hermes config check` shows the line",
            Self::NotReplaced { .. } | Self::Signals(_) | Self::Thread { .. } => return None,
            Self::Claim(ClaimError::File(error)) => return error.hint(),
        };
        Some(fixed.to_owned())
    }
}
