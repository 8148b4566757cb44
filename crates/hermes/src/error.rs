//! The one error of the program: what happened, what to do next, and with which code to exit.

use std::process::ExitCode;

use hermes_config::settings::ConfigError;
use hermes_docker::DockerError;
use hermes_home::{AliasError, EnsureError, archive, backup};
use hermes_providers::{AuthError, OpenError};

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
    /// The kind of an error for which the machine or the user is at fault.
    fn of(is_outside: bool) -> Self {
        if is_outside {
            Self::Environment
        } else {
            Self::User
        }
    }

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
    fn maybe_hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hints.extend(hint.into());
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

/// Errors of the libraries, each with whether the machine rather than the user is at fault.
macro_rules! from_library {
    ($($error:ty: $is_outside:expr),+ $(,)?) => {
        $(impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                let is_outside: fn(&$error) -> bool = $is_outside;
                Self::new(Kind::of(is_outside(&error)), error.to_string()).maybe_hint(error.hint())
            }
        })+
    };
}

from_library!(
    hermes_fs::Error: hermes_fs::Error::is_storage_full,
    ConfigError: |error| matches!(error, ConfigError::File(file) if file.is_storage_full()),
    hermes_home::SelectError: |_| false,
    hermes_home::NameError: |_| false,
    hermes_telemetry::reader::ReadError: |_| false,
    OpenError: |_| false,
    AliasError: |error| matches!(error, AliasError::File(file) if file.is_storage_full()),
    EnsureError: |error| matches!(error, EnsureError::File(file) if file.is_storage_full()),
    AuthError: |error| matches!(error, AuthError::File(file) if file.is_storage_full()),
    archive::Error: |error| match error {
        archive::Error::File(file) => file.is_storage_full(),
        archive::Error::Write { source, .. } => is_full(source),
        _ => false,
    },
    backup::Error: |error| match error {
        backup::Error::File(file) => file.is_storage_full(),
        backup::Error::Write { source, .. } => is_full(source),
        backup::Error::NotEnoughSpace { .. } => true,
        _ => false,
    },
    hermes_home::Error: |error| match error {
        hermes_home::Error::NoGit { .. } | hermes_home::Error::Git { .. } => true,
        hermes_home::Error::File(file) => file.is_storage_full(),
        _ => false,
    },
    hermes_session::Error: |error| error.is_storage_full() || error.is_busy(),
    DockerError: DockerError::is_missing_part,
);

fn is_full(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
    )
}

impl From<hermes_telemetry::ArgumentError> for CommandError {
    fn from(error: hermes_telemetry::ArgumentError) -> Self {
        Self::user(error.to_string()).hint(error.hint())
    }
}

impl From<hermes_board::Error> for CommandError {
    fn from(error: hermes_board::Error) -> Self {
        let kind = if error.is_usage() {
            Kind::Usage
        } else {
            Kind::of(error.is_storage_full())
        };
        let hint = error.hint();
        Self::new(kind, error.to_string())
            .maybe_hint(hint)
            .by_the_board()
    }
}

impl From<hermes_runtime::Error> for CommandError {
    fn from(error: hermes_runtime::Error) -> Self {
        use hermes_runtime::{Error, ErrorKind};
        match error {
            Error::Board(error) => return error.into(),
            Error::NoToolset => return Self::usage("--toolsets names no toolset that exists"),
            _ => {}
        }
        let kind = match error.kind() {
            ErrorKind::User | ErrorKind::Config => Kind::User,
            ErrorKind::Environment | ErrorKind::Remote => Kind::Environment,
            ErrorKind::Internal => Kind::Internal,
        };
        Self::new(kind, error.to_string()).maybe_hint(error.hint())
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
