//! The one error of the program: what happened, what to do next, and with which code to exit.

use std::process::ExitCode;

use crate::ui::Printer;

/// What an error means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Refused or failed for a reason the user can act on.
    User,
    /// The command line itself is wrong.
    Usage,
    /// A needed outside part is missing or down.
    Environment,
    /// The reader of our output has gone; not an error.
    BrokenPipe,
    /// A bug.
    Internal,
}

impl Kind {
    fn exit_code(self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::User => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::Internal => 70,
        }
    }
}

/// A command that did not do what was asked.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: Kind,
    prefix: &'static str,
    message: String,
    hints: Vec<String>,
}

pub(crate) type Result<T> = std::result::Result<T, CommandError>;

impl CommandError {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            prefix: "Error: ",
            message: message.into(),
            hints: Vec::new(),
        }
    }

    /// Refused or failed for a reason the user can act on.
    pub(crate) fn user(message: impl Into<String>) -> Self {
        Self::new(Kind::User, message)
    }

    /// A needed outside part is missing or down.
    pub(crate) fn environment(message: impl Into<String>) -> Self {
        Self::new(Kind::Environment, message)
    }

    /// The command line is wrong in a way the parser cannot see.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// The user said no; nothing was done.
    pub(crate) fn cancelled() -> Self {
        Self {
            prefix: "",
            ..Self::user("Cancelled.")
        }
    }

    /// A failure that has already been reported; only the exit code is left to say.
    pub(crate) fn silent() -> Self {
        Self::user(String::new())
    }

    /// The same, as the board says it.
    #[must_use]
    pub(crate) fn by_the_board(mut self) -> Self {
        self.prefix = "kanban: ";
        self
    }

    /// Whether nobody reads our output any more: there is no point in going on.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.kind == Kind::BrokenPipe
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same in one line.
    #[must_use]
    pub(crate) fn without_hints(mut self) -> Self {
        self.hints.clear();
        self
    }

    #[must_use]
    fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hints.extend(hint);
        self
    }

    /// What happened and what to do next.
    pub(crate) fn words(&self) -> (&str, &[String]) {
        (&self.message, &self.hints)
    }

    /// The exit code of a program that ends because of it.
    pub(crate) fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }

    /// Prints the error and gives the exit code.
    pub(crate) fn report(&self, printer: &Printer) -> ExitCode {
        if self.kind != Kind::BrokenPipe && !self.message.is_empty() {
            tracing::debug!(message = %self.message, "command failed");
            let mut text = format!("{}{}\n", self.prefix, self.message);
            for hint in &self.hints {
                text.push_str(&format!("hint: {hint}\n"));
            }
            if self.kind == Kind::Internal {
                text.push_str("hint: this is a bug; `hermes dump` and `hermes logs errors` help to report it\n");
            }
            // Standard error may be closed; the exit code still tells.
            drop(printer.err(&text));
        }
        ExitCode::from(self.exit_code())
    }
}

impl From<hermes_fs::Error> for CommandError {
    fn from(error: hermes_fs::Error) -> Self {
        let kind = if error.is_storage_full() {
            Kind::Environment
        } else {
            Kind::User
        };
        Self::new(kind, error.to_string()).maybe_hint(error.hint())
    }
}

impl From<hermes_config::settings::ConfigError> for CommandError {
    fn from(error: hermes_config::settings::ConfigError) -> Self {
        match error {
            hermes_config::settings::ConfigError::File(error) => error.into(),
            other => {
                let hint = other.hint();
                Self::user(other.to_string()).maybe_hint(hint)
            }
        }
    }
}

/// Errors of the libraries that carry their own hint.
macro_rules! from_hinted {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                let hint = error.hint();
                Self::user(error.to_string()).maybe_hint(hint)
            }
        })+
    };
}

from_hinted!(
    hermes_home::SelectError,
    hermes_home::NameError,
    hermes_telemetry::reader::ReadError,
);

/// A full disk is the machine's trouble; everything else in these is the user's to mend.
fn kind_of(is_full: bool) -> Kind {
    if is_full {
        Kind::Environment
    } else {
        Kind::User
    }
}

fn is_full(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
    )
}

impl From<hermes_home::AliasError> for CommandError {
    fn from(error: hermes_home::AliasError) -> Self {
        use hermes_home::AliasError;
        let full = matches!(&error, AliasError::File(file) if file.is_storage_full());
        let hint = error.hint();
        Self::new(kind_of(full), error.to_string()).maybe_hint(hint)
    }
}

impl From<hermes_home::EnsureError> for CommandError {
    fn from(error: hermes_home::EnsureError) -> Self {
        use hermes_home::EnsureError;
        let full = matches!(&error, EnsureError::File(file) if file.is_storage_full());
        let hint = error.hint();
        Self::new(kind_of(full), error.to_string()).maybe_hint(hint)
    }
}

impl From<hermes_home::archive::Error> for CommandError {
    fn from(error: hermes_home::archive::Error) -> Self {
        use hermes_home::archive::Error;
        let full = match &error {
            Error::File(file) => file.is_storage_full(),
            Error::Write { source, .. } => is_full(source),
            _ => false,
        };
        let hint = error.hint();
        Self::new(kind_of(full), error.to_string()).maybe_hint(hint)
    }
}

impl From<hermes_home::backup::Error> for CommandError {
    fn from(error: hermes_home::backup::Error) -> Self {
        use hermes_home::backup::Error;
        let full = match &error {
            Error::File(file) => file.is_storage_full(),
            Error::Write { source, .. } => is_full(source),
            Error::NotEnoughSpace { .. } => true,
            _ => false,
        };
        let hint = error.hint();
        Self::new(kind_of(full), error.to_string()).maybe_hint(hint)
    }
}

impl From<hermes_providers::AuthError> for CommandError {
    fn from(error: hermes_providers::AuthError) -> Self {
        use hermes_providers::AuthError;
        let full = matches!(&error, AuthError::File(file) if file.is_storage_full());
        let hint = error.hint();
        Self::new(kind_of(full), error.to_string()).maybe_hint(hint)
    }
}

impl From<hermes_providers::OpenError> for CommandError {
    fn from(error: hermes_providers::OpenError) -> Self {
        Self::user(error.to_string()).hint(error.hint())
    }
}

impl From<hermes_telemetry::ArgumentError> for CommandError {
    fn from(error: hermes_telemetry::ArgumentError) -> Self {
        Self::user(error.to_string()).hint(error.hint())
    }
}

impl From<hermes_home::Error> for CommandError {
    fn from(error: hermes_home::Error) -> Self {
        use hermes_home::Error;
        let kind = match &error {
            Error::NoGit { .. } | Error::Git { .. } => Kind::Environment,
            Error::File(error) if error.is_storage_full() => Kind::Environment,
            _ => Kind::User,
        };
        let hint = error.hint();
        Self::new(kind, error.to_string()).maybe_hint(hint)
    }
}

impl From<hermes_board::Error> for CommandError {
    fn from(error: hermes_board::Error) -> Self {
        let kind = if error.is_usage() {
            Kind::Usage
        } else {
            kind_of(error.is_storage_full())
        };
        let hint = error.hint();
        Self::new(kind, error.to_string())
            .maybe_hint(hint)
            .by_the_board()
    }
}

impl From<hermes_session::Error> for CommandError {
    fn from(error: hermes_session::Error) -> Self {
        let outside = error.is_storage_full() || error.is_busy();
        let hint = error.hint();
        Self::new(kind_of(outside), error.to_string()).maybe_hint(hint)
    }
}

impl From<hermes_docker::DockerError> for CommandError {
    fn from(error: hermes_docker::DockerError) -> Self {
        let kind = if error.is_missing_part() {
            Kind::Environment
        } else {
            Kind::User
        };
        let hint = error.hint();
        Self::new(kind, error.to_string()).maybe_hint(hint)
    }
}

impl From<hermes_terminal::remote::TransportError> for CommandError {
    fn from(error: hermes_terminal::remote::TransportError) -> Self {
        let kind = if error.is_missing_part {
            Kind::Environment
        } else {
            Kind::User
        };
        Self::new(kind, error.message).maybe_hint(error.hint)
    }
}

impl From<hermes_agent::Error> for CommandError {
    fn from(error: hermes_agent::Error) -> Self {
        match error {
            hermes_agent::Error::Session(error) => error.into(),
        }
    }
}

impl From<std::io::Error> for CommandError {
    /// Only writing to the terminal or pipe gives a bare I/O error.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::new(Kind::BrokenPipe, String::new())
        } else {
            Self::environment(format!("could not write the output: {error}"))
        }
    }
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(Kind::Internal, format!("could not write JSON: {error}"))
    }
}
