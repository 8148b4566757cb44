//! Arguments of `hermes logs` that are not understood. Each error names the argument and the choices.

/// A name, level, component or age that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    #[error("unknown log level '{0}'")]
    UnknownLevel(String),
    #[error("unknown log '{0}'")]
    UnknownLog(String),
    #[error("unknown component '{0}'")]
    UnknownComponent(String),
    #[error("'{0}' is not an age")]
    BadAge(String),
}

impl ArgumentError {
    /// What can be written instead.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownLevel(_) => "choose DEBUG, INFO, WARNING, ERROR or CRITICAL",
            Self::UnknownLog(_) => {
                "choose agent, errors, gateway, gui, boot, gateways/<profile> or addons/<feature>; \
                 'hermes logs list' shows which exist"
            }
            Self::UnknownComponent(_) => "choose gateway, agent, tools, cli or cron",
            Self::BadAge(_) => {
                "write a number followed by s, m, h, d or w, such as 45s, 30m, 1h or 2d"
            }
        }
    }
}
