//! One foreground command in its session.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use hermes_fs::random_hex;
use hermes_proc::sandbox::Sandbox;
use hermes_proc::{Wake, adopt_orphans, reap_orphans};

use super::backend::{LocalBackend, MARK};
use super::directory::{is_enterable, nearest_enterable, resolve_workdir};
use super::prepared::{Birth, Prepared};
use super::shell_run::{Outcome, ShellRun};
use crate::backend::{
    BackendCommand, BackendError, BackendOutcome, Confinement, moved_note, survivors_error,
};
use crate::environment::ShellEnvRequest;
use crate::shell::report::{Report, report_nonce};
use crate::shell::script::Script;
use crate::shell::{Session, StateDelta, WorkdirError};

/// Said when a command ran otherwise than its session usually does, and left more than a directory.
const FOREIGN_STATE: &str = "This command did not run where the session's commands usually do, so \
     variables, functions and aliases that it set are not kept.";

impl LocalBackend {
    pub(super) fn run_command(
        &self,
        command: &BackendCommand<'_>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<BackendOutcome, BackendError> {
        let session = command.session;
        let sandbox = self
            .confinement(command.confinement)
            .map_err(BackendError::NoSandbox)?;
        self.ensure_login(session, command.interrupt, command.shutdown);
        let (cwd, cwd_note) = self.run_directory(session, command.workdir)?;
        let is_usual = command.confinement == self.usual;
        let state = if is_usual || command.confinement == Confinement::Sandbox {
            session.snapshot()
        } else {
            // What sandboxed commands defined could be waiting for one outside.
            session.as_logged_in()
        };
        let prepared = self.prepared.take(session.key());
        let mark = match &prepared {
            Some(prepared) => prepared.mark().to_owned(),
            None => random_hex(16),
        };
        let variables = self.variables(
            &ShellEnvRequest {
                session: session.key(),
                overlay: &state.overlay,
                background: false,
                pty: false,
                exec_id: &mark,
            },
            command.confinement,
        );
        let nonce = report_nonce();
        let run = ShellRun {
            shell: &self.shells.find(),
            login: false,
            script: &Script {
                state: &state,
                command: command.command.as_bytes(),
                nonce: &nonce,
            },
            cwd: &cwd,
            variables: &variables,
            mark: &mark,
            input: command.input,
            limit: command.timeout,
            interrupts: &[command.interrupt, command.shutdown],
            guard: self.guard(),
            sandbox: sandbox.as_ref(),
        };
        // So that what a command leaves behind is still below us, should it have to be ended.
        if let Err(error) = adopt_orphans() {
            tracing::debug!(%error, "orphans of commands are not found by their parent");
        }
        let outcome = match self.attempt(run, prepared, command.interrupt, sink) {
            Ok(outcome) => outcome,
            Err(error) => {
                return Err(BackendError::NotStarted {
                    message: with_hint(&error),
                    cwd_note,
                });
            }
        };
        reap_orphans();
        let mut shell_note = None;
        if let Some(report) = Report::parse(&outcome.report, &nonce) {
            // The shell reports without links, and was perhaps started through one.
            let real_start = hermes_fs::canonicalize(&cwd).unwrap_or_else(|_| cwd.clone());
            let mut delta = report.changes(&state, &variables, &real_start);
            if !is_usual {
                // Outside of the sandbox nothing may run that came from inside, and the other way
                // round the session would find things it never set.
                let cwd = delta.cwd.take();
                if delta != StateDelta::default() {
                    shell_note = Some(FOREIGN_STATE.to_owned());
                }
                delta = StateDelta {
                    cwd,
                    ..StateDelta::default()
                };
            }
            let has_same_variables = delta.variables.is_empty();
            session.update(|state| state.apply(delta));
            if has_same_variables && is_usual {
                self.prepare_next(session, variables, sandbox.clone());
            }
        }
        Ok(BackendOutcome {
            end: outcome.end,
            error: survivors_error(&outcome.survivors),
            kill_remark: String::new(),
            cwd_note,
            shell_note,
            sandbox: sandbox.map(|sandbox| Arc::new(sandbox.plan().clone())),
        })
    }

    /// Has a shell wait for the session's next command, which starts with the same variables unless
    /// something outside changes them.
    fn prepare_next(
        &self,
        session: &Session,
        mut variables: Vec<(OsString, OsString)>,
        sandbox: Option<Arc<Sandbox>>,
    ) {
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
                sandbox,
            }
        });
    }

    /// Where a command runs, and the note if that is not where the session was; the session moves
    /// along if its directory is gone.
    pub(super) fn run_directory(
        &self,
        session: &Session,
        workdir: Option<&str>,
    ) -> Result<(PathBuf, Option<String>), WorkdirError> {
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
                return Ok((path, None));
            }
            return Err(WorkdirError::Missing(path));
        }
        let path = nearest_enterable(&cwd, &self.settings.temp_directory);
        if path == cwd {
            return Ok((path, None));
        }
        session.update(|state| state.cwd.clone_from(&path));
        let note = Some(moved_note(&cwd, &path));
        Ok((path, note))
    }

    /// Runs the shell, and tries again later if the system could not start it. What has started is
    /// never started again.
    fn attempt(
        &self,
        run: ShellRun<'_>,
        mut prepared: Option<Prepared>,
        interrupt: &Wake,
        sink: &mut dyn FnMut(&[u8]),
    ) -> hermes_proc::Result<Outcome> {
        let mut pauses = self.settings.start_retries.iter();
        loop {
            let shell = self.shells.find();
            let run = ShellRun {
                shell: &shell,
                ..run
            };
            let waiting = prepared.take().and_then(|prepared| prepared.if_same(&run));
            let error = match run.run_in(waiting, sink) {
                Ok(outcome) => return Ok(outcome),
                Err(error) => error,
            };
            let Some(pause) = pauses.next().filter(|_| is_transient(&error)) else {
                return Err(error);
            };
            tracing::warn!(%error, "the shell did not start; trying again");
            if interrupt.wait(*pause) {
                return Err(error);
            }
        }
    }
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
