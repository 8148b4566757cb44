//! What a call needs from outside: variables, verdicts, passwords, flags.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use hermes_proc::Wake;
use hermes_secret::SecretString;
use serde_json::{Map, Value};

use super::Terminal;
use crate::output::Transform;
use crate::session::{Overlay, SessionKey};

/// A shell about to be started.
#[derive(Debug, Clone, Copy)]
pub struct SpawnRequest<'a> {
    /// The session it belongs to.
    pub session: &'a SessionKey,
    /// What that session changed about the variables.
    pub overlay: &'a Overlay,
    /// Whether it is a background process.
    pub background: bool,
    /// Whether it gets a terminal.
    pub pty: bool,
    /// Value of `HERMES_EXEC_ID`.
    pub exec_id: &'a str,
}

/// Decides about the variables of shells.
pub trait EnvSource: Send + Sync {
    /// All variables of the shell.
    fn variables(&self, request: &SpawnRequest<'_>) -> Vec<(OsString, OsString)>;
    /// What `~` means to the shell.
    fn child_home(&self) -> PathBuf;
}

/// Whether someone waits for the end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandKind {
    /// The caller waits.
    Foreground,
    /// It runs on its own.
    Background,
}

/// Decides whether a command may run.
pub trait CommandGuard: Send + Sync {
    /// The verdict; may wait for a person.
    fn check(&self, command: &str, kind: CommandKind) -> GuardOutcome;
}

/// A verdict.
#[derive(Debug, Clone, PartialEq)]
pub enum GuardOutcome {
    /// It may run. With a text if it was flagged and then approved.
    Allowed {
        /// Who approved what.
        approval: Option<String>,
    },
    /// It may not run.
    Refused {
        /// The field `exit_code`.
        exit_code: i32,
        /// The field `status`: `error`, `blocked` or `pending_approval`.
        status: &'static str,
        /// The field `error`.
        error: String,
        /// Further fields of the result.
        fields: Map<String, Value>,
    },
}

/// Passwords for sudo.
pub trait SudoSupport: Send + Sync {
    /// The command with sudo reading its password from the input, and that input; `None` to run the
    /// command as it is.
    fn prepare(&self, command: &str, session: &SessionKey) -> Option<SudoInput>;
    /// The password was refused; says whether a remembered one was forgotten.
    fn rejected(&self, session: &SessionKey) -> bool;
    /// Whether the session is a chat, where a hint helps more than a prompt.
    fn is_messaging(&self) -> bool;
}

/// A command prepared for sudo.
#[derive(Debug)]
pub struct SudoInput {
    /// The command to run.
    pub command: String,
    /// One line per sudo.
    pub input: SecretString,
    /// What is in every line, and must not be in the output.
    pub password: SecretString,
}

/// Where results may be heard later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeSupport {
    /// The session gets notices, whether it asked in between or not: a chat.
    Delivered,
    /// The session gets notices, but none about an end it has been shown by `poll`: a terminal.
    DeliveredUnlessShown,
    /// It cannot: the reason goes into the result.
    Unsupported(String),
}

/// Where a notice goes, as the gateway stores it: the fields `watcher_*` of `processes.json`.
pub type WatcherFields = BTreeMap<String, Value>;

/// A call of a tool.
pub struct ToolContext<'a> {
    /// Sessions, processes, settings.
    pub terminal: &'a Terminal,
    /// The caller's session.
    pub session: &'a SessionKey,
    /// Variables of children.
    pub environment: &'a dyn EnvSource,
    /// What may run.
    pub guard: &'a dyn CommandGuard,
    /// Raised when the user wants the turn to end.
    pub interrupt: &'a Wake,
    /// Called every ten seconds while a command runs.
    pub on_progress: Option<&'a dyn Fn()>,
    /// May replace an output before it is redacted.
    pub transform_output: Option<Transform<'a>>,
    /// Passwords for sudo.
    pub sudo: Option<&'a dyn SudoSupport>,
    /// Whether the session can hear of the end of a process.
    pub notices: NoticeSupport,
    /// Stored with background processes.
    pub watcher: WatcherFields,
}
