//! Scripts of Hermes itself, run elsewhere: for tools that read and write files there.
//!
//! They touch no session, and their output is neither redacted nor shortened for a reader.

use std::path::Path;
use std::time::Duration;

use hermes_proc::Wake;

use super::error::RemoteError;
use super::exchange::Over;
use super::request::{Directory, Request, Verb};
use super::site::Execution;
use super::terminal::{RemoteTerminal, patience};
use crate::session::ShellState;

/// A script to run.
#[derive(Debug, Clone, Copy)]
pub struct InternalRun<'a> {
    /// Text for any POSIX shell. What it prints on standard error is dropped; `exec 2>&1` in it
    /// joins it to the output.
    pub script: &'a str,
    /// What it reads.
    pub input: &'a [u8],
    /// Where it runs; `/` if `None`. A leading `~` is the home there.
    pub directory: Option<&'a Path>,
    /// Time limit.
    pub limit: Duration,
    /// Bytes of output that are kept.
    pub most_bytes: usize,
    /// Raised to end it early.
    pub interrupt: Option<&'a Wake>,
}

/// What it printed and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalOutput {
    /// The beginning of its output.
    pub stdout: Vec<u8>,
    /// Whether there was more.
    pub is_cut: bool,
    /// Its exit code, 128 + n for signal n; 126 if the directory is missing.
    pub exit_code: i32,
}

impl RemoteTerminal {
    /// Runs a script to its end.
    pub fn run_internal(&self, run: InternalRun<'_>) -> Result<InternalOutput, RemoteError> {
        let _active = self.site.count_in();
        self.prepare();
        self.run_script(run, true)
    }

    /// The same without counting as activity, and with or without bringing the place back.
    pub(super) fn run_script(
        &self,
        run: InternalRun<'_>,
        revives: bool,
    ) -> Result<InternalOutput, RemoteError> {
        let state = ShellState::new("/".into());
        let directory = run
            .directory
            .map_or(Directory::Nearest(Path::new("/")), Directory::Exactly);
        let input = (!run.input.is_empty()).then_some(run.input);
        let interrupts: Vec<&Wake> = run.interrupt.into_iter().collect();
        let execution = Execution {
            request: &|hello, nonces| {
                Request {
                    verb: Verb::Run,
                    state: &state,
                    directory,
                    command: run.script.as_bytes(),
                    joins_errors: false,
                    reports: false,
                    has_input: input.is_some(),
                    loop_nonce: &nonces.of_loop,
                    nonce: &nonces.of_shell,
                }
                .bytes(hello)
            },
            input,
            limit: run.limit,
            interrupts: &interrupts,
            on_progress: None,
            patience: &|| patience(None),
            revives,
        };
        let mut output = InternalOutput {
            stdout: Vec::new(),
            is_cut: false,
            exit_code: 0,
        };
        let executed = self.site.execute(&execution, &mut |bytes| {
            let room = run.most_bytes.saturating_sub(output.stdout.len());
            output.is_cut |= bytes.len() > room;
            output
                .stdout
                .extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        })?;
        let known = &executed.known;
        match (executed.over, known.status) {
            (Over::TimedOut, _) => Err(RemoteError::TimedOut { limit: run.limit }),
            (Over::Interrupted, _) => Err(RemoteError::Interrupted),
            (Over::Ended, Some(status)) if known.started.is_some() || known.is_misplaced => {
                output.exit_code = status;
                Ok(output)
            }
            (Over::Ended, status) => Err(self.no_process(status)),
            (Over::Broken, _) => Err(RemoteError::LostWhileRunning {
                place: self.describe(),
                rest: String::new(),
            }),
        }
    }

    /// The loop there could not start a shell for the command.
    pub(super) fn no_process(&self, status: Option<i32>) -> RemoteError {
        RemoteError::NoProcess {
            place: self.describe(),
            status: status.unwrap_or(-1),
        }
    }
}
