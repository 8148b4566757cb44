//! Errors of other crates, as answers.

use hermes_config::settings::{ConfigError, WholeFileError};

use crate::http::ApiError;

fn with_hint(text: String, hint: Option<String>) -> String {
    hint.map_or(text.clone(), |hint| format!("{text}; {hint}"))
}

impl From<hermes_session::Error> for ApiError {
    fn from(error: hermes_session::Error) -> Self {
        use hermes_session::Error;
        let text = error.to_string();
        match &error {
            Error::InvalidId { .. } | Error::Unknown { .. } | Error::Ambiguous { .. } => {
                Self::not_found(text)
            }
            Error::Exists { .. } | Error::TitleTaken { .. } => Self::conflict(text),
            Error::TitleTooLong { .. } | Error::EmptyTitle => Self::bad_request(text),
            _ if error.is_busy() || error.is_storage_full() || error.is_damage() => {
                Self::unavailable(text)
            }
            _ => Self::internal(text),
        }
    }
}

impl From<ConfigError> for ApiError {
    fn from(error: ConfigError) -> Self {
        let text = with_hint(error.to_string(), error.hint());
        match error {
            ConfigError::Edit(_)
            | ConfigError::WrongType { .. }
            | ConfigError::Variable(_)
            | ConfigError::Broken { .. }
            | ConfigError::DotEnv { .. } => Self::bad_request(text),
            ConfigError::Managed { .. } => Self::forbidden(text),
            ConfigError::NotSet(_) => Self::not_found(text),
            ConfigError::File(_) => Self::unavailable(text),
        }
    }
}

impl From<WholeFileError> for ApiError {
    fn from(error: WholeFileError) -> Self {
        let text = error.to_string();
        match error {
            WholeFileError::Config(error) => error.into(),
            WholeFileError::LoneMask(_) => Self::bad_request(text),
            WholeFileError::Changed => Self::conflict(format!("{text}; load it again")),
        }
    }
}

impl From<hermes_home::Error> for ApiError {
    fn from(error: hermes_home::Error) -> Self {
        use hermes_home::Error;
        let text = error.to_string();
        match error {
            Error::Missing { .. } => Self::not_found(text),
            Error::Exists { .. } => Self::conflict(text),
            _ => Self::bad_request(text),
        }
    }
}

impl From<hermes_home::NameError> for ApiError {
    fn from(error: hermes_home::NameError) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<hermes_fs::Error> for ApiError {
    fn from(error: hermes_fs::Error) -> Self {
        Self::unavailable(with_hint(error.to_string(), error.hint()))
    }
}

impl From<hermes_runtime::Error> for ApiError {
    fn from(error: hermes_runtime::Error) -> Self {
        Self::unavailable(with_hint(error.to_string(), error.hint()))
    }
}

impl From<hermes_cron::Error> for ApiError {
    fn from(error: hermes_cron::Error) -> Self {
        use hermes_cron::Error;
        let text = with_hint(error.to_string(), error.hint().map(Into::into));
        match &error {
            Error::NoSuchJob(_) => Self::not_found(text),
            Error::Schedule(_) | Error::Refused { .. } => Self::bad_request(text),
            Error::Ambiguous { .. } | Error::AlreadyRunning(_) | Error::SchedulerRunning => {
                Self::conflict(text)
            }
            Error::File(_) | Error::Store(_) | Error::Damaged { .. } => Self::unavailable(text),
        }
    }
}
