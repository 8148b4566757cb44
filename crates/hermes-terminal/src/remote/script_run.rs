//! Scripts of Hermes itself on a remote host: for tools that read and write files there.
//!
//! They touch no session, and their output is neither redacted nor shortened for a reader.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::Wake;

use super::error::RemoteError;
use super::exchange::Over;
use super::host::RemoteHost;
use super::request::{Directory, Execution, Verb};
use crate::shell::ShellState;

/// A host with a POSIX shell that runs scripts, as the file tools and `execute_code` use it.
pub trait ScriptRunner: Send + Sync {
    /// Runs a script to its end, at most once, apart from any session. Several may run at once.
    ///
    /// When the limit has passed or the interrupt is raised, everything the script started is
    /// stopped, with SIGTERM first, before this returns an error.
    fn run_script(&self, request: &ScriptRequest<'_>) -> Result<ScriptOutcome, RemoteError>;

    /// The host, for messages: `container hermes-0123abcd`, `user@host`.
    fn describe(&self) -> String;
}

/// A script to run.
#[derive(Debug, Clone, Copy)]
pub struct ScriptRequest<'a> {
    /// Text of any size for any POSIX shell. Its standard error is dropped; `exec 2>&1` in it joins
    /// it to the output.
    pub script: &'a str,
    pub input: &'a [u8],
    /// Where it runs; `/` if `None`. A leading `~` is the home there.
    pub directory: Option<&'a Path>,
    pub limit: Duration,
    /// Bytes of output that are kept.
    pub most_output: usize,
    /// Raised to end it early.
    pub interrupt: Option<&'a Wake>,
}

/// What a script printed and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptOutcome {
    pub stdout: Vec<u8>,
    pub is_cut: bool,
    /// Its exit code, 128 + n for signal n; 126 if the directory is missing.
    pub exit_code: i32,
}

impl RemoteHost {
    /// Runs a script without counting as activity, and with or without bringing the host back.
    pub(super) fn run_script(
        self: &Arc<Self>,
        request: &ScriptRequest<'_>,
        revives: bool,
    ) -> Result<ScriptOutcome, RemoteError> {
        let interrupts: Vec<&Wake> = request.interrupt.into_iter().collect();
        let execution = Execution {
            verb: Verb::Run,
            state: &ShellState::new("/".into()),
            directory: request
                .directory
                .map_or(Directory::Nearest(Path::new("/")), Directory::Exactly),
            command: request.script.as_bytes(),
            joins_errors: false,
            reports: false,
            input: request.input,
            limit: request.limit,
            interrupts: &interrupts,
            shutdown: None,
            revives,
        };
        let mut outcome = ScriptOutcome {
            stdout: Vec::new(),
            is_cut: false,
            exit_code: 0,
        };
        let executed = self.execute(&execution, &mut |bytes| {
            let room = request.most_output.saturating_sub(outcome.stdout.len());
            outcome.is_cut |= bytes.len() > room;
            let kept = bytes.get(..room.min(bytes.len())).unwrap_or_default();
            outcome.stdout.extend_from_slice(kept);
        })?;
        let known = &executed.known;
        match (executed.over, known.status) {
            (Over::TimedOut, _) => Err(RemoteError::TimedOut {
                limit: request.limit,
            }),
            (Over::Interrupted, _) => Err(RemoteError::Interrupted),
            (Over::Ended, Some(status)) if known.started.is_some() || known.is_misplaced => {
                outcome.exit_code = status;
                Ok(outcome)
            }
            (Over::Ended, status) => Err(self.no_process(status)),
            (Over::Broken, _) => Err(self.lost_while_running(String::new())),
        }
    }

    /// The loop there could not start a shell for the command.
    pub(super) fn no_process(&self, status: Option<i32>) -> RemoteError {
        RemoteError::NoProcess {
            host: self.transport.describe(),
            status: status.unwrap_or(-1),
        }
    }

    pub(super) fn lost_while_running(&self, rest: String) -> RemoteError {
        RemoteError::LostWhileRunning {
            host: self.transport.describe(),
            rest,
        }
    }

    /// Brings what must be there before a command.
    pub(super) fn prepare(&self) {
        if let Err(error) = self.transport.before_command() {
            let host = self.transport.describe();
            tracing::warn!(%error, host, "not all files were copied");
        }
    }
}
