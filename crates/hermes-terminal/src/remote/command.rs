//! One foreground command on a remote host, in its session.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::RemoteError;
use super::exchange::Over;
use super::host::{Executed, RemoteHost};
use super::request::{Directory, Execution, Verb, variables_of};
use crate::backend::{
    BackendCommand, BackendError, BackendOutcome, CommandEnd, moved_note, survivors_error,
};
use crate::shell::{Session, ShellState, WorkdirError};

impl RemoteHost {
    pub(super) fn run_command(
        self: &Arc<Self>,
        command: &BackendCommand<'_>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<BackendOutcome, BackendError> {
        check_workdir(command.workdir)?;
        let _active = self.count_in();
        self.prepare();
        let session = command.session;
        self.ensure_login(session, command.interrupt, command.shutdown)
            .map_err(|error| not_run(&error))?;
        self.ready_guard(command.input);
        let state = session.snapshot();
        let directory = requested_directory(command.workdir, &state.cwd);
        let execution = Execution {
            verb: Verb::Run,
            state: &state,
            directory: match command.workdir {
                Some(_) => Directory::Exactly(&directory),
                None => Directory::Nearest(&directory),
            },
            command: command.command.as_bytes(),
            joins_errors: true,
            reports: true,
            input: command.input,
            limit: command.timeout,
            interrupts: &[command.interrupt, command.shutdown],
            shutdown: Some(command.shutdown),
            revives: true,
        };
        let executed = self
            .execute(&execution, sink)
            .map_err(|error| not_run(&error))?;
        if executed.known.is_misplaced {
            return Err(WorkdirError::Missing(directory).into());
        }
        let cwd_note = update_session(session, &state, command.workdir, &executed);
        self.outcome(&executed, cwd_note)
            .map_err(|error| not_run(&error))
    }

    fn outcome(
        &self,
        executed: &Executed,
        cwd_note: Option<String>,
    ) -> Result<BackendOutcome, RemoteError> {
        let mut kill_remark = String::new();
        let mut error = None;
        if let Some(killed) = &executed.killed {
            error = survivors_error(&killed.survivors);
            if !killed.is_certain {
                let location = self.transport.location();
                kill_remark = format!("; its processes {location} may still be running");
            }
        }
        let end = match (executed.over, executed.known.status) {
            (Over::TimedOut, _) => CommandEnd::TimedOut,
            (Over::Interrupted, _) => CommandEnd::Interrupted,
            (Over::Ended, Some(status)) if executed.known.started.is_some() => {
                CommandEnd::Exited(status)
            }
            (Over::Ended, status) => return Err(self.no_process(status)),
            (Over::Broken, _) => {
                let rest = if kill_remark.is_empty() {
                    ", and what it had started was stopped".to_owned()
                } else {
                    kill_remark.clone()
                };
                error = Some(self.lost_while_running(rest).to_string());
                CommandEnd::Lost
            }
        };
        Ok(BackendOutcome {
            end,
            error,
            kill_remark,
            cwd_note,
            sandbox: None,
            shell_note: self.take_note(),
        })
    }
}

/// Updates the session with what the command changed; the note says if it ran in another directory.
fn update_session(
    session: &Session,
    before: &ShellState,
    workdir: Option<&str>,
    executed: &Executed,
) -> Option<String> {
    let started = executed.known.started.as_ref()?;
    let started_in = PathBuf::from(OsString::from_vec(started.cwd.clone()));
    let mut note = None;
    if workdir.is_none() && (started.has_moved || !before.cwd.is_absolute()) {
        session.update(|state| state.cwd.clone_from(&started_in));
        note = started
            .has_moved
            .then(|| moved_note(&before.cwd, &started_in));
    }
    if let Some(report) = executed.report() {
        let variables = variables_of(&executed.hello, &before.overlay);
        let delta = report.changes(before, &variables, &started_in);
        session.update(|state| state.apply(delta));
    }
    note
}

/// The directory is quoted for a shell there, which may take control characters for something else.
pub(super) fn check_workdir(workdir: Option<&str>) -> Result<(), WorkdirError> {
    let forbidden = workdir.unwrap_or_default().chars().find(|c| c.is_control());
    match forbidden {
        None => Ok(()),
        Some('\0') => Err(WorkdirError::Forbidden("NUL character")),
        Some('\n') => Err(WorkdirError::Forbidden("newline")),
        Some(_) => Err(WorkdirError::Forbidden("control character")),
    }
}

/// Where a command should run. What is relative is relative to the session, except to a home that
/// only the shell there knows.
pub(super) fn requested_directory(workdir: Option<&str>, cwd: &Path) -> PathBuf {
    match workdir {
        None => cwd.to_owned(),
        Some(workdir) if workdir == "~" || workdir.starts_with("~/") => workdir.into(),
        Some(workdir) => cwd.join(workdir),
    }
}

fn not_run(error: &RemoteError) -> BackendError {
    if *error == RemoteError::Interrupted {
        return BackendError::Interrupted;
    }
    BackendError::NotStarted {
        message: format!("Failed to execute command: {}", error.with_hint()),
        cwd_note: None,
    }
}
