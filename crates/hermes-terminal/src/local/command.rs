//! One foreground command in its session.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use hermes_fs::random_hex;

use super::backend::{LocalBackend, MARK};
use super::directory::{is_enterable, nearest_enterable, resolve_workdir};
use super::prepared::{Birth, Prepared};
use super::shell_run::{Finish, Outcome, ShellRun};
use crate::backend::{
    BackendCommand, BackendError, BackendOutcome, CommandEnd, moved_note, survivors_error,
};
use crate::environment::ShellEnvRequest;
use crate::shell::report::{Report, report_nonce};
use crate::shell::script::Script;
use crate::shell::{Session, WorkdirError};

/// The directory a command runs in.
pub(super) struct RunDirectory {
    pub(super) path: PathBuf,
    pub(super) note: Option<String>,
}

impl LocalBackend {
    pub(super) fn run_command(
        &self,
        command: &BackendCommand<'_>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<BackendOutcome, BackendError> {
        let session = command.session;
        self.ensure_login(session, command.interrupt, command.shutdown);
        let directory = self.run_directory(session, command.workdir)?;
        let state = session.snapshot();
        let prepared = self.prepared.take(session.key());
        let mark = match &prepared {
            Some(prepared) => prepared.mark().to_owned(),
            None => random_hex(16),
        };
        let variables = self.variables(&ShellEnvRequest {
            session: session.key(),
            overlay: &state.overlay,
            background: false,
            pty: false,
            exec_id: &mark,
        });
        let nonce = report_nonce();
        let attempt = Attempt {
            script: &Script {
                state: &state,
                command: command.command.as_bytes(),
                nonce: &nonce,
            },
            cwd: &directory.path,
            variables: &variables,
            mark: &mark,
            command,
        };
        let outcome = match self.attempt(&attempt, prepared, sink) {
            Ok(outcome) => outcome,
            Err(error) => {
                return Err(BackendError::NotStarted {
                    message: with_hint(&error),
                    cwd_note: directory.note,
                });
            }
        };
        if let Some(report) = Report::parse(&outcome.report, &nonce) {
            // The shell reports without links, and was perhaps started through one.
            let real_start =
                hermes_fs::canonicalize(&directory.path).unwrap_or_else(|_| directory.path.clone());
            let delta = report.changes(&state, &variables, &real_start);
            let has_same_variables = delta.variables.is_empty();
            session.update(|state| state.apply(delta));
            if has_same_variables {
                self.prepare_next(session, variables);
            }
        }
        Ok(BackendOutcome {
            end: match outcome.finish {
                Finish::Ended(status) => CommandEnd::Exited(status.signed_code()),
                Finish::TimedOut => CommandEnd::TimedOut,
                Finish::Interrupted => CommandEnd::Interrupted,
            },
            error: survivors_error(&outcome.survivors),
            kill_remark: String::new(),
            cwd_note: directory.note,
            shell_note: None,
        })
    }

    /// Has a shell wait for the session's next command, which starts with the same variables unless
    /// something outside changes them.
    fn prepare_next(&self, session: &Session, mut variables: Vec<(OsString, OsString)>) {
        self.prepared.prepare(session.key(), || {
            let mark = random_hex(16);
            for (name, value) in &mut variables {
                if name == MARK {
                    *value = OsString::from(&mark);
                }
            }
            Birth {
                shell: self.shells.find(),
                cwd: session.snapshot().cwd,
                variables,
                mark,
            }
        });
    }

    /// Where a command runs; the session moves along if its directory is gone.
    pub(super) fn run_directory(
        &self,
        session: &Session,
        workdir: Option<&str>,
    ) -> Result<RunDirectory, WorkdirError> {
        let cwd = session.snapshot().cwd;
        if let Some(workdir) = workdir {
            // The kernel takes any other character in a name; these two cannot come from a path.
            for (character, name) in [('\0', "NUL character"), ('\n', "newline")] {
                if workdir.contains(character) {
                    return Err(WorkdirError::Forbidden(name));
                }
            }
            let path = resolve_workdir(workdir, &cwd, &self.environment.child_home());
            if is_enterable(&path) {
                return Ok(RunDirectory { path, note: None });
            }
            return Err(WorkdirError::Missing(path));
        }
        let path = nearest_enterable(&cwd, &self.settings.temp_directory);
        if path == cwd {
            return Ok(RunDirectory { path, note: None });
        }
        session.update(|state| state.cwd.clone_from(&path));
        let note = Some(moved_note(&cwd, &path));
        Ok(RunDirectory { path, note })
    }

    /// Runs the shell, and tries again later if the system could not start it. What has started is
    /// never started again.
    fn attempt(
        &self,
        attempt: &Attempt<'_>,
        mut prepared: Option<Prepared>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> hermes_proc::Result<Outcome> {
        let command = attempt.command;
        let mut pauses = self.settings.start_retries.iter();
        loop {
            let shell = self.shells.find();
            let run = ShellRun {
                shell: &shell,
                login: false,
                script: attempt.script,
                cwd: attempt.cwd,
                variables: attempt.variables,
                mark: attempt.mark,
                input: command.input,
                limit: command.timeout,
                interrupts: &[command.interrupt, command.shutdown],
                guard: self.guard(),
            };
            let waiting = prepared.take().and_then(|prepared| {
                let has_input = !command.input.is_empty();
                prepared.if_same(&shell, attempt.cwd, attempt.variables, has_input)
            });
            let error = match run.run_in(waiting, sink) {
                Ok(outcome) => return Ok(outcome),
                Err(error) => error,
            };
            let Some(pause) = pauses.next().filter(|_| is_transient(&error)) else {
                return Err(error);
            };
            tracing::warn!(%error, "the shell did not start; trying again");
            if command.interrupt.wait(*pause) {
                return Err(error);
            }
        }
    }
}

struct Attempt<'a> {
    script: &'a Script<'a>,
    cwd: &'a Path,
    variables: &'a [(OsString, OsString)],
    mark: &'a str,
    command: &'a BackendCommand<'a>,
}

/// Whether the same start may succeed in a moment.
fn is_transient(error: &hermes_proc::Error) -> bool {
    let hermes_proc::Error::Start { source, .. } = error else {
        return false;
    };
    matches!(
        source.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory
    )
}

fn with_hint(error: &hermes_proc::Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    }
}
