//! One foreground command elsewhere, in its session.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use hermes_proc::ExitStatus;

use super::control::Killed;
use super::error::RemoteError;
use super::exchange::Over;
use super::request::{Directory, Request, Verb, variables_of};
use super::site::{Executed, Execution};
use super::terminal::{RemoteTerminal, patience};
use crate::local::engine::Finish;
use crate::local::foreground::{Ending, missing_directory, moved_note, state_delta};
use crate::local::report::Report;
use crate::local::{Foreground, ForegroundResult, ToolContext};
use crate::output::{Collected, Collector, CollectorOptions};
use crate::session::{Session, ShellState};
use hermes_fs::random_hex;

impl RemoteTerminal {
    /// Runs a command to its end.
    pub fn run_foreground(
        &self,
        foreground: Foreground<'_>,
        context: &ToolContext<'_>,
    ) -> ForegroundResult {
        let terminal = context.terminal;
        let _counted = terminal.count_in();
        let _active = self.site.count_in();
        self.prepare();
        let session = terminal
            .sessions
            .get(context.session, &self.start_directory());
        if let Err(error) = self.ensure_login(&session, context) {
            return not_run(&error);
        }
        self.site.ready_control();
        let mut collector = Collector::new(CollectorOptions {
            most: terminal.settings.shown_output,
            full_output: Some(
                terminal
                    .output_directory()
                    .join(format!("{}.log", random_hex(16))),
            ),
            redactor: terminal.redactor_for(&foreground),
        });
        let state = session.snapshot();
        let wanted = wanted_directory(foreground.workdir, &state.cwd);
        let executed =
            self.execute_in_session(&foreground, &state, &wanted, context, &mut |bytes| {
                collector.feed(bytes);
            });
        let executed = match executed {
            Ok(executed) => executed,
            Err(error) => return not_run(&error),
        };
        if executed.known.is_misplaced {
            return missing_directory(&wanted);
        }
        let cwd_note = take_over(&session, &state, foreground.workdir, &executed);
        let collected = collector.finish(context.transform_output);
        let mut result = self.result(&executed, foreground, collected, cwd_note);
        result.shell_note = self.site.take_note();
        result
    }

    fn execute_in_session(
        &self,
        foreground: &Foreground<'_>,
        state: &ShellState,
        wanted: &Path,
        context: &ToolContext<'_>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<Executed, RemoteError> {
        let directory = match foreground.workdir {
            Some(_) => Directory::Exactly(wanted),
            None => Directory::Nearest(wanted),
        };
        let input = (!foreground.input.is_empty()).then_some(foreground.input);
        let shutdown = &context.terminal.shutdown;
        let execution = Execution {
            request: &|hello, nonces| {
                Request {
                    verb: Verb::Run,
                    state,
                    directory,
                    command: foreground.command.as_bytes(),
                    joins_errors: true,
                    reports: true,
                    has_input: input.is_some(),
                    loop_nonce: &nonces.of_loop,
                    nonce: &nonces.of_shell,
                }
                .bytes(hello)
            },
            input,
            limit: foreground.limit,
            interrupts: &[context.interrupt, shutdown],
            on_progress: context.on_progress,
            patience: &|| patience(Some(shutdown)),
            revives: true,
        };
        self.site.execute(&execution, sink)
    }

    fn result(
        &self,
        executed: &Executed,
        foreground: Foreground<'_>,
        collected: Collected,
        cwd_note: Option<String>,
    ) -> ForegroundResult {
        let nobody = Killed::default();
        let killed = executed.killed.as_ref().unwrap_or(&nobody);
        let remark = match &executed.killed {
            Some(killed) if !killed.is_certain => self.doubt(),
            _ => String::new(),
        };
        let ending = |finish, survivors| Ending {
            finish,
            limit: foreground.limit,
            survivors,
            remark: &remark,
        };
        let finish = match (executed.over, executed.known.status) {
            (Over::TimedOut, _) => Finish::TimedOut,
            (Over::Interrupted, _) => Finish::Interrupted,
            (Over::Ended, Some(status)) if executed.known.started.is_some() => {
                Finish::Ended(ExitStatus::Exited(status))
            }
            (Over::Ended, status) => {
                return not_run(&self.no_process(status));
            }
            (Over::Broken, _) => {
                let error = RemoteError::LostWhileRunning {
                    place: self.describe(),
                    rest: if remark.is_empty() {
                        ", and what it had started was stopped".to_owned()
                    } else {
                        remark.clone()
                    },
                };
                let mut result =
                    ending(Finish::Ended(ExitStatus::Exited(-1)), &[]).result(collected, cwd_note);
                result.error = Some(error.to_string());
                return result;
            }
        };
        ending(finish, &killed.survivors).result(collected, cwd_note)
    }
}

/// Changes the session by what the command did, and says if it ran somewhere else.
fn take_over(
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
    if let Some(report) = Report::parse(&executed.known.report, &executed.nonces.of_shell) {
        let variables = variables_of(&executed.hello, &before.overlay);
        let delta = state_delta(report, before, &variables, &started_in);
        session.update(|state| state.apply(delta));
    }
    note
}

/// Where a command should run. What is relative is relative to the session, except to a home that
/// only the shell there knows.
pub(super) fn wanted_directory(workdir: Option<&str>, cwd: &Path) -> PathBuf {
    match workdir {
        None => cwd.to_owned(),
        Some(workdir) if workdir == "~" || workdir.starts_with("~/") => workdir.into(),
        Some(workdir) => cwd.join(workdir),
    }
}

/// The result of a command that was not run.
fn not_run(error: &RemoteError) -> ForegroundResult {
    let is_interrupt = *error == RemoteError::Interrupted;
    let hint = error
        .hint()
        .map(|hint| format!(" ({hint})"))
        .unwrap_or_default();
    ForegroundResult {
        output: if is_interrupt {
            "[Command interrupted]".to_owned()
        } else {
            String::new()
        },
        exit_code: if is_interrupt { 130 } else { -1 },
        error: (!is_interrupt).then(|| format!("Failed to execute command: {error}{hint}")),
        cwd_note: None,
        full_output: None,
        interrupted: is_interrupt,
        shell_note: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_workdir_is_relative_to_the_session_and_tilde_stays_for_the_shell_there() {
        let at = |workdir, cwd| wanted_directory(workdir, Path::new(cwd));
        assert_eq!(at(None, "~"), Path::new("~"));
        assert_eq!(at(Some("sub"), "~/a"), Path::new("~/a/sub"));
        assert_eq!(at(Some("/abs"), "~"), Path::new("/abs"));
        assert_eq!(at(Some("~/x y"), "/w"), Path::new("~/x y"));
        assert_eq!(at(Some("~other"), "/w"), Path::new("/w/~other"));
    }
}
