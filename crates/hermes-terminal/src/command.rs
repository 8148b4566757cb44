//! A command and what became of it.

use std::path::PathBuf;
use std::time::Duration;

use hermes_proc::Wake;

use crate::approval::Refusal;
use crate::shell::SessionKey;

/// A foreground command.
#[derive(Clone, Copy)]
pub struct CommandRequest<'a> {
    pub command: &'a str,
    pub session: &'a SessionKey,
    pub workdir: Option<&'a str>,
    /// Time limit; `None` for the usual one.
    pub timeout: Option<Duration>,
    /// Raised to end the command.
    pub interrupt: &'a Wake,
}

/// A foreground command that was approved. All texts are redacted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandOutcome {
    pub output: String,
    /// 124 for a timeout, 130 for an interrupt, −n for signal n, 126 for a missing directory, −1 if
    /// the command did not start or was lost.
    pub exit_code: i32,
    pub no_result: bool,
    pub interrupted: bool,
    pub error: Option<String>,
    pub cwd_note: Option<String>,
    pub shell_note: Option<String>,
    pub full_output: Option<PathBuf>,
    pub approval: Option<String>,
    pub sudo: SudoOutcome,
    /// Whether it ran in the sandbox.
    pub sandboxed: bool,
    /// What the sandbox kept it from, and the setting that allows it.
    pub sandbox_hint: Option<String>,
}

/// What a command did with the password for sudo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SudoOutcome {
    pub rejected: bool,
    /// A remembered password was forgotten because of that.
    pub forgotten: bool,
}

/// Why a command was not run. All texts are redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRun {
    TimeoutTooLong {
        requested: Duration,
        longest: Duration,
    },
    Refused(Refusal),
    /// The directory that was asked for holds this character, which no directory may have.
    ForbiddenInWorkdir(&'static str),
    MissingDirectory(String),
    NotStarted(String),
    /// It was to run in a sandbox that this machine does not have.
    NoSandbox(String),
}

/// A background process to start.
#[derive(Clone, Copy)]
pub struct StartRequest<'a> {
    pub command: &'a str,
    pub session: &'a SessionKey,
    pub workdir: Option<&'a str>,
    pub pty: bool,
    pub notify: bool,
    pub watch_patterns: &'a [String],
    /// Raised to give up the start.
    pub interrupt: &'a Wake,
}
