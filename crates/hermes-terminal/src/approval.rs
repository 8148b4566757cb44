//! Who decides whether a command may run, and who knows the password of sudo.

use hermes_secret::SecretString;
use hermes_shell::KnownShell;

use crate::confinement::Confinement;
use crate::shell::SessionKey;

/// What becomes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandKind {
    /// A command whose end someone waits for.
    Foreground,
    Background,
    /// It is typed into a shell that runs already, confined like this.
    Typed(Confinement),
}

/// A command to decide about.
#[derive(Clone, Copy)]
pub struct CommandCheck<'a> {
    /// Whose command it is.
    pub session: &'a SessionKey,
    pub command: &'a str,
    pub kind: CommandKind,
    /// What is known of the shell that will run it.
    pub shell: &'a dyn KnownShell,
}

/// Decides whether a command may run.
pub trait CommandApprover: Send + Sync {
    /// The decision; may wait for a person.
    fn check(&self, check: &CommandCheck<'_>) -> CommandDecision;

    /// Whether a command that the sandbox kept from something may run again without it, this once.
    /// `wall` says what it was kept from. Only a person says yes.
    fn allows_outside(&self, _command: &str, _wall: &str) -> bool {
        false
    }
}

/// A decision about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandDecision {
    /// It may run. With a text if it was flagged and then approved.
    Allowed {
        approval: Option<String>,
        confinement: Confinement,
    },
    Refused(Refusal),
}

/// Why a command may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub kind: RefusalKind,
    pub message: String,
    /// Whether nothing may ever approve the command.
    pub hardline: bool,
    pub pattern_key: Option<String>,
    pub description: Option<String>,
}

/// Kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The command makes no sense as it is.
    Invalid,
    Blocked,
    /// Somebody has to approve it first.
    PendingApproval,
}

/// Passwords for sudo.
pub trait SudoSupport: Send + Sync {
    /// The command with sudo reading its password from the input, and that input; `None` to run the
    /// command as it is.
    fn prepare(&self, command: &str, session: &SessionKey) -> Option<SudoInput>;
    /// The password was refused; says whether a remembered one was forgotten.
    fn rejected(&self, session: &SessionKey) -> bool;
}

/// A command prepared for sudo.
#[derive(Debug)]
pub struct SudoInput {
    pub command: String,
    /// One line per sudo.
    pub input: SecretString,
    /// What is in every line, and must not be in the output.
    pub password: SecretString,
}
