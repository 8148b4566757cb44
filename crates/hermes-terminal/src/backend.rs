//! What a backend is: the host on which the commands of a terminal run.
//!
//! [`crate::local::LocalBackend`] starts children of this process;
//! [`crate::remote::RemoteBackend`] speaks with a shell behind a transport. Both get a session and
//! leave it as the command left it. What a command may do, how its output is redacted and cut, and
//! which background processes there are is decided above, in [`crate::Terminal`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::Wake;
use hermes_proc::sandbox::SandboxPlan;

use crate::background::{Guarded, StartError, StartedProcess};
use crate::shell::{Session, WorkdirError};

pub use crate::confinement::Confinement;

/// The host on which commands run.
pub trait Backend: Send + Sync {
    /// The host in messages: `this machine`, `container hermes-0123abcd`, `user@host`.
    fn describe(&self) -> String;

    /// Where sessions start, as seen on the host; may begin with `~`.
    fn start_directory(&self) -> PathBuf;

    /// Runs a foreground command to its end, passes its output on as it comes, and updates the
    /// session with what the command changed. A command is run at most once.
    fn run(
        &self,
        command: &BackendCommand<'_>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<BackendOutcome, BackendError>;

    /// Starts a background process. It may wait for [`StartedProcess::release`] before it runs.
    fn start(&self, process: &BackendProcess<'_>) -> Result<StartedProcess, StartError>;

    /// A variable as the next command of the session would see it, as far as that is known without
    /// starting one.
    fn variable(&self, session: &Session, name: &str) -> Option<OsString>;

    /// Ends everything that carries this value of `HERMES_EXEC_ID` (16 hexadecimal digits) should
    /// Hermes be killed, for as long as the answer lives.
    fn guard_processes(&self, mark: &str) -> Option<Guarded<'_>>;

    /// Ends what the backend keeps ready for later commands.
    fn shut_down(&self);
}

/// A foreground command for a backend: approved, with its limit.
#[derive(Clone, Copy)]
pub struct BackendCommand<'a> {
    pub session: &'a Session,
    pub command: &'a str,
    pub workdir: Option<&'a str>,
    pub timeout: Duration,
    /// Standard input; nothing if empty.
    pub input: &'a [u8],
    pub confinement: Confinement,
    /// Raised to end the command.
    pub interrupt: &'a Wake,
    /// Raised when Hermes itself is about to end.
    pub shutdown: &'a Wake,
}

/// A background process for a backend: approved and counted.
#[derive(Clone, Copy)]
pub struct BackendProcess<'a> {
    pub id: &'a str,
    pub session: &'a Session,
    pub command: &'a str,
    pub workdir: Option<&'a str>,
    pub pty: bool,
    pub confinement: Confinement,
    /// Raised to give up the start.
    pub interrupt: &'a Wake,
    /// Raised when Hermes itself is about to end.
    pub shutdown: &'a Wake,
}

/// How a command came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself, with this code; the negated signal if one ended it.
    Exited(i32),
    TimedOut,
    /// Stopped because an interrupt was raised.
    Interrupted,
    Lost,
}

/// What a backend knows of a command that was run.
#[derive(Debug)]
pub struct BackendOutcome {
    pub end: CommandEnd,
    /// What went wrong although it ran: processes that survived a kill, a lost connection.
    pub error: Option<String>,
    /// Added to the message about a kill: what is unknown about its processes.
    pub kill_remark: String,
    pub cwd_note: Option<String>,
    pub shell_note: Option<String>,
    /// What it was allowed, if it ran in the sandbox.
    pub sandbox: Option<Arc<SandboxPlan>>,
}

/// Why a backend did not run a command.
#[derive(Debug, PartialEq, Eq)]
pub enum BackendError {
    Workdir(WorkdirError),
    Interrupted,
    /// It was to be confined, and this machine cannot.
    NoSandbox(String),
    /// It could not be started; with the next step if there is one.
    NotStarted {
        message: String,
        cwd_note: Option<String>,
    },
}

impl From<WorkdirError> for BackendError {
    fn from(error: WorkdirError) -> Self {
        Self::Workdir(error)
    }
}

/// The error for processes that could not be killed.
pub(crate) fn survivors_error(survivors: &[u32]) -> Option<String> {
    (!survivors.is_empty()).then(|| {
        let pids: Vec<String> = survivors.iter().map(u32::to_string).collect();
        format!(
            "could not be killed and are still running: {}",
            pids.join(", ")
        )
    })
}

/// The note about a session whose directory is gone.
pub(crate) fn moved_note(from: &Path, to: &Path) -> String {
    format!(
        "{} no longer exists or cannot be entered; the command ran in {}, which is now the working \
         directory.",
        from.display(),
        to.display()
    )
}
