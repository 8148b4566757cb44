//! A command and what became of it.

use std::path::PathBuf;
use std::time::Duration;

use hermes_proc::Wake;

use crate::approval::Refusal;
use crate::background::PtyState;
use crate::shell::SessionKey;

/// A foreground command.
#[derive(Clone, Copy)]
pub struct CommandRequest<'a> {
    /// Shell text.
    pub command: &'a str,
    /// The conversation it belongs to.
    pub session: &'a SessionKey,
    /// Directory for this command only.
    pub workdir: Option<&'a str>,
    /// Time limit; `None` for the usual one.
    pub timeout: Option<Duration>,
    /// Raised to end the command.
    pub interrupt: &'a Wake,
}

/// A foreground command that was approved. All texts are redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// Output, as much as a result shows.
    pub output: String,
    /// 124 for a timeout, 130 for an interrupt, −n for signal n, 126 for a missing directory, −1 if
    /// the command did not start or was lost.
    pub exit_code: i32,
    /// Whether it could not be started, or its result was lost.
    pub no_result: bool,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Why it did not start, or what is left of it.
    pub error: Option<String>,
    /// That it ran in another directory than expected.
    pub cwd_note: Option<String>,
    /// Something about the shell it ran in.
    pub shell_note: Option<String>,
    /// Where the whole output is, if only part is shown.
    pub full_output: Option<PathBuf>,
    /// Who approved it, if it was flagged.
    pub approval: Option<String>,
    /// What became of the password for sudo.
    pub sudo: SudoOutcome,
}

/// What a command did with the password for sudo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SudoOutcome {
    /// Sudo refused the password.
    pub rejected: bool,
    /// A remembered password was forgotten because of that.
    pub forgotten: bool,
}

/// Why a command was not run. All texts are redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRun {
    /// Its time limit is longer than a foreground command may have.
    TimeoutTooLong {
        /// What was asked for.
        requested: Duration,
        /// What is allowed.
        longest: Duration,
    },
    /// The policy refused it.
    Refused(Refusal),
    /// The directory that was asked for holds this character, which no directory may have.
    ForbiddenInWorkdir(&'static str),
    /// The directory that was asked for is missing, with this message.
    MissingDirectory(String),
    /// A background process could not be started, with this message.
    NotStarted(String),
}

/// A background process to start.
#[derive(Clone, Copy)]
pub struct StartRequest<'a> {
    /// Shell text.
    pub command: &'a str,
    /// The conversation it belongs to.
    pub session: &'a SessionKey,
    /// Directory for this process only.
    pub workdir: Option<&'a str>,
    /// Whether it should have a pseudo-terminal.
    pub pty: bool,
    /// Whether the conversation is told of its end.
    pub notify: bool,
    /// Texts whose lines the conversation is told.
    pub watch_patterns: &'a [String],
    /// Raised to give up the start.
    pub interrupt: &'a Wake,
}

/// A background process that runs. All texts are redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Its id.
    pub id: String,
    /// Its process id, on the host it runs on.
    pub pid: u32,
    /// Whether it has a pseudo-terminal.
    pub pty: PtyState,
    /// That it runs in another directory than expected.
    pub cwd_note: Option<String>,
    /// Who approved it, if it was flagged.
    pub approval: Option<String>,
}
