//! The one error of the program: what happened, what to do next, and with which code to exit.

use hermes_config::settings::ConfigError;
use hermes_docker::DockerError;
use hermes_home::{AliasError, EnsureError, archive, backup};
use hermes_providers::{AuthError, OpenError};

/// What an error means for the caller, with its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The reader of our output has gone; not an error.
    BrokenPipe = 0,
    /// Refused or failed for a reason the user can act on.
    User = 1,
    /// The command line itself is wrong.
    Usage = 2,
    /// A needed outside part is missing or down.
    Environment = 3,
    /// A bug.
    Internal = 70,
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
}

/// A command that did not do what was asked.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: Kind,
    prefix: &'static str,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

pub(crate) type Result<T> = std::result::Result<T, CommandError>;

impl CommandError {
    fn new(kind: Kind, message: impl Into<String>) -> Self {
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

    /// A failure in the words that scripts know from the reference.
    pub(crate) fn marked(message: impl Into<String>) -> Self {
        Self {
            prefix: "✗ ",
            ..Self::user(message)
        }
    }

    /// A failure that has already been reported; only the exit code is left to say.
    pub(crate) fn silent() -> Self {
        Self::user(String::new())
    }

    /// The result of a command that has reported everything: a failure unless `ok`.
    pub(crate) fn silent_unless(ok: bool) -> Result<()> {
        if ok { Ok(()) } else { Err(Self::silent()) }
    }

    /// The same error without a message, for one that has been printed.
    pub(crate) fn reported(self) -> Self {
        Self {
            message: String::new(),
            ..self
        }
    }

    /// The error as `kanban` words it.
    #[must_use]
    pub(crate) fn of_board(mut self) -> Self {
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

    fn hinted(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hints.extend(hint.into());
        self
    }

    /// The exit code of a program that ends because of the error.
    pub(crate) fn exit_code(&self) -> u8 {
        self.kind as u8
    }

    /// The lines for standard error; `None` if there is nothing to say.
    pub(crate) fn report(&self) -> Option<String> {
        if self.message.is_empty() {
            return None;
        }
        let mut text = format!("{}{}\n", self.prefix, self.message);
        let bug = (self.kind == Kind::Internal).then_some(crate::crash::BUG_HINT);
        for hint in self.hints.iter().map(String::as_str).chain(bug) {
            text.push_str(&format!("hint: {hint}\n"));
        }
        Some(text)
    }
}

/// Errors of the libraries, each with whether the machine rather than the user is at fault.
macro_rules! from_library {
    ($($error:ty: $is_outside:expr),+ $(,)?) => {
        $(impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                let is_outside: fn(&$error) -> bool = $is_outside;
                Self::new(Kind::of(is_outside(&error)), error.to_string()).hinted(error.hint())
            }
        })+
    };
}

from_library!(
    hermes_fs::Error: hermes_fs::Error::is_storage_full,
    ConfigError: |error| matches!(error, ConfigError::File(file) if file.is_storage_full()),
    hermes_home::SelectError: |_| false,
    hermes_skills::Error: |error| matches!(error, hermes_skills::Error::Source { .. }),
    hermes_plugins::Error: |error| match error {
        hermes_plugins::Error::File(file) => file.is_storage_full(),
        error => error.is_outside(),
    },
    hermes_home::NameError: |_| false,
    hermes_telemetry::reader::ReadError: |_| false,
    OpenError: |_| false,
    AliasError: |error| matches!(error, AliasError::File(file) if file.is_storage_full()),
    EnsureError: |error| matches!(error, EnsureError::File(file) if file.is_storage_full()),
    AuthError: |error| matches!(error, AuthError::File(file) if file.is_storage_full()),
    archive::Error: |error| match error {
        archive::Error::File(file) => file.is_storage_full(),
        archive::Error::Write { source, .. } => is_full(source),
        archive::Error::NoRoom { .. } => true,
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
    hermes_cron::Error: hermes_cron::Error::is_outside,
    hermes_checkpoints::Error: |error| match error {
        hermes_checkpoints::Error::NoGit => true,
        hermes_checkpoints::Error::Files(file) => file.is_storage_full(),
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

impl From<hermes_addons::AddonError> for CommandError {
    /// With the installer's own words, since they say more than ours.
    fn from(error: hermes_addons::AddonError) -> Self {
        let kind = match error.code.fault() {
            hermes_addons::Fault::Usage => Kind::Usage,
            hermes_addons::Fault::User => Kind::User,
            hermes_addons::Fault::Outside => Kind::Environment,
        };
        let mut message = error.to_string();
        let mut log = None;
        if let Some(installer) = error.installer {
            if !installer.tail.is_empty() {
                message.push_str(&format!("\n{} {} said:", installer.tool, installer.version));
                for line in installer.tail.lines() {
                    message.push_str(&format!("\n  {line}"));
                }
            }
            log = installer.log.map(|log| format!("all of its output: {log}"));
        }
        Self::new(kind, message).hinted(error.hint).hinted(log)
    }
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
            Kind::of(error.is_storage_full() || error.is_missing_part())
        };
        let hint = error.hint();
        Self::new(kind, error.to_string()).hinted(hint).of_board()
    }
}

impl From<hermes_runtime::Error> for CommandError {
    fn from(error: hermes_runtime::Error) -> Self {
        use hermes_runtime::{Error, ErrorKind};
        match error {
            Error::Board(error) => return error.into(),
            Error::NoToolset => {
                return Self::usage("--toolsets does not name any existing toolset");
            }
            _ => {}
        }
        let kind = match error.kind() {
            ErrorKind::User | ErrorKind::Config => Kind::User,
            ErrorKind::Environment | ErrorKind::Remote => Kind::Environment,
            ErrorKind::Internal => Kind::Internal,
        };
        Self::new(kind, error.to_string()).hinted(error.hint())
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
