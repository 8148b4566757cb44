//! Arguments of `hermes logs` that are not understood. Each error names the argument and the choices.

/// A name, level, component or age that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// No level of that name.
    #[error("unknown log level '{value}'")]
    UnknownLevel {
        /// As typed.
        value: String,
    },
    /// No log of that name.
    #[error("unknown log '{value}'")]
    UnknownLog {
        /// As typed.
        value: String,
    },
    /// No component of that name.
    #[error("unknown component '{value}'")]
    UnknownComponent {
        /// As typed.
        value: String,
    },
    /// Not a length of time.
    #[error("'{value}' is not an age")]
    BadAge {
        /// As typed.
        value: String,
    },
}

impl ArgumentError {
    /// What can be written instead.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownLevel { .. } => "choose DEBUG, INFO, WARNING, ERROR or CRITICAL",
            Self::UnknownLog { .. } => {
                "choose agent, errors, gateway, gui, boot or gateways/<profile>; \
                 'hermes logs list' shows which exist"
            }
            Self::UnknownComponent { .. } => "choose gateway, agent, tools, cli or cron",
            Self::BadAge { .. } => {
                "write a number followed by s, m, h, d or w, such as 45s, 30m, 1h or 2d"
            }
        }
    }
}
