//! One foreground command in its session.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_secret::{Redactor, Sink};

use super::Terminal;
use super::context::{SpawnRequest, ToolContext};
use super::directory::{is_enterable, nearest_enterable, resolve_workdir};
use super::engine::{Finish, Outcome, ShellRun};
use super::prepared::{Birth, Prepared};
use super::report::{Report, report_nonce};
use super::script::Script;
use super::terminal::MARK;
use crate::output::{Collector, CollectorOptions};
use crate::session::{Session, ShellState, StateDelta, changed_definitions, difference};
use hermes_fs::random_hex;
use hermes_policy::lists_variables;

/// A command to run.
#[derive(Debug, Clone, Copy)]
pub struct Foreground<'a> {
    /// Shell text.
    pub command: &'a str,
    /// Directory for this command only.
    pub workdir: Option<&'a str>,
    /// Time limit.
    pub limit: Duration,
    /// What it reads.
    pub input: &'a [u8],
    /// Masks its output where the backend's own redactor knows too little.
    pub redactor: Option<&'a Arc<Redactor>>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForegroundResult {
    /// Text for the reader.
    pub output: String,
    /// 124 for a timeout, 130 for an interrupt, −n for signal n, −1 if it did not start.
    pub exit_code: i32,
    /// Why it did not start, or what is left of it.
    pub error: Option<String>,
    /// That it ran somewhere else than expected.
    pub cwd_note: Option<String>,
    /// Where the whole output is.
    pub full_output: Option<PathBuf>,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Something about the shell it ran in.
    pub shell_note: Option<String>,
}

/// The place a command runs in.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) note: Option<String>,
}

impl Terminal {
    /// Runs a command to its end.
    pub fn run_foreground(
        &self,
        foreground: Foreground<'_>,
        context: &ToolContext<'_>,
    ) -> ForegroundResult {
        if let Some(remote) = &self.remote {
            return remote.run_foreground(foreground, context);
        }
        let _counted = self.count_in();
        let session = self
            .sessions
            .get(context.session, &self.settings.start_directory);
        self.ensure_login(&session, context);
        let place = match self.place(&session, foreground.workdir, context) {
            Ok(place) => place,
            Err(refused) => return *refused,
        };
        let state = session.snapshot();
        let prepared = self.prepared.take(context.session);
        let mark = match &prepared {
            Some(prepared) => prepared.mark().to_owned(),
            None => random_hex(16),
        };
        let variables = Self::variables(
            context,
            SpawnRequest {
                session: context.session,
                overlay: &state.overlay,
                background: false,
                pty: false,
                exec_id: &mark,
            },
        );
        let nonce = report_nonce();
        let script = Script {
            state: &state,
            command: foreground.command.as_bytes(),
            nonce: &nonce,
        };
        let attempt = Attempt {
            script: &script,
            cwd: &place.path,
            variables: &variables,
            mark: &mark,
            foreground,
        };
        let mut collector = Collector::new(CollectorOptions {
            most: self.settings.shown_output,
            full_output: Some(self.output_directory().join(format!("{mark}.log"))),
            redactor: self.redactor_for(&foreground),
        });
        let outcome = match self.attempt(&attempt, prepared, context, &mut collector) {
            Ok(outcome) => outcome,
            Err(error) => return not_started(&error, place.note),
        };
        if let Some(report) = Report::parse(&outcome.report, &nonce) {
            // The shell reports without links, and was perhaps started through one.
            let real_start =
                hermes_fs::canonicalize(&place.path).unwrap_or_else(|_| place.path.clone());
            let delta = state_delta(report, &state, &variables, &real_start);
            let has_same_variables = delta.variables.is_empty();
            session.update(|state| state.apply(delta));
            if has_same_variables {
                self.prepare_next(&session, variables);
            }
        }
        let collected = collector.finish(context.transform_output);
        let ending = Ending {
            finish: outcome.finish,
            limit: foreground.limit,
            survivors: &outcome.survivors,
            remark: "",
        };
        ending.result(collected, place.note)
    }

    /// What masks the output of a command: the names of variables count where it lists them.
    pub(crate) fn redactor_for(&self, foreground: &Foreground<'_>) -> Arc<Redactor> {
        let redactor = foreground.redactor.unwrap_or(&self.redactor);
        if lists_variables(foreground.command) {
            return Arc::new(redactor.for_sink(Sink::Variables));
        }
        Arc::clone(redactor)
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
    pub(crate) fn place(
        &self,
        session: &Session,
        workdir: Option<&str>,
        context: &ToolContext<'_>,
    ) -> Result<Place, Box<ForegroundResult>> {
        let cwd = session.snapshot().cwd;
        if let Some(workdir) = workdir {
            let home = context.environment.child_home();
            let path = resolve_workdir(workdir, &cwd, &home);
            if is_enterable(&path) {
                return Ok(Place { path, note: None });
            }
            return Err(Box::new(missing_directory(&path)));
        }
        let path = nearest_enterable(&cwd, &self.settings.temp_directory);
        if path == cwd {
            return Ok(Place { path, note: None });
        }
        session.update(|state| state.cwd.clone_from(&path));
        let note = moved_note(&cwd, &path);
        Ok(Place {
            path,
            note: Some(note),
        })
    }

    /// Runs the shell, and tries again later if the system could not start it. What has started is
    /// never started again.
    fn attempt(
        &self,
        attempt: &Attempt<'_>,
        mut prepared: Option<Prepared>,
        context: &ToolContext<'_>,
        collector: &mut Collector,
    ) -> hermes_proc::Result<Outcome> {
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
                input: attempt.foreground.input,
                limit: attempt.foreground.limit,
                interrupts: &[context.interrupt, &self.shutdown],
                on_progress: context.on_progress,
                guard: self.guard(),
            };
            let waiting = prepared.take().and_then(|prepared| {
                let has_input = !attempt.foreground.input.is_empty();
                prepared.if_same(&shell, attempt.cwd, attempt.variables, has_input)
            });
            let error = match run.run_in(waiting, &mut |bytes| collector.feed(bytes)) {
                Ok(outcome) => return Ok(outcome),
                Err(error) => error,
            };
            let Some(pause) = pauses.next().filter(|_| may_pass(&error)) else {
                return Err(error);
            };
            tracing::warn!(%error, "the shell did not start; it is tried again");
            if context.interrupt.wait(*pause) {
                return Err(error);
            }
        }
    }
}

/// The result of a command whose directory is missing.
pub(crate) fn missing_directory(path: &Path) -> ForegroundResult {
    ForegroundResult {
        output: format!("{}: no such directory", path.display()),
        exit_code: 126,
        error: None,
        cwd_note: None,
        full_output: None,
        interrupted: false,
        shell_note: None,
    }
}

/// That a command ran somewhere else than it should.
pub(crate) fn moved_note(from: &Path, to: &Path) -> String {
    format!(
        "{} is gone or cannot be entered; the command ran in {}, which is now the working directory.",
        from.display(),
        to.display()
    )
}

struct Attempt<'a> {
    script: &'a Script<'a>,
    cwd: &'a Path,
    variables: &'a [(OsString, OsString)],
    mark: &'a str,
    foreground: Foreground<'a>,
}

/// Whether the same start may succeed in a moment.
fn may_pass(error: &hermes_proc::Error) -> bool {
    let hermes_proc::Error::Start { source, .. } = error else {
        return false;
    };
    matches!(
        source.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory
    )
}

fn not_started(error: &hermes_proc::Error, cwd_note: Option<String>) -> ForegroundResult {
    let hint = error
        .hint()
        .map(|hint| format!(" ({hint})"))
        .unwrap_or_default();
    ForegroundResult {
        output: String::new(),
        exit_code: -1,
        error: Some(format!("{error}{hint}")),
        cwd_note,
        full_output: None,
        interrupted: false,
        shell_note: None,
    }
}

/// What a command changed, started in a directory given without links.
pub(crate) fn state_delta(
    report: Report,
    before: &ShellState,
    variables: &[(OsString, OsString)],
    started_in: &Path,
) -> StateDelta {
    StateDelta {
        cwd: report.cwd.filter(|cwd| cwd != started_in),
        variables: difference(variables, &report.exports),
        functions: report
            .functions
            .map(|after| changed_definitions(&before.functions, after))
            .unwrap_or_default(),
        aliases: changed_definitions(&before.aliases, report.aliases),
    }
}

/// How a command ended, for its result.
pub(crate) struct Ending<'a> {
    pub(crate) finish: Finish,
    pub(crate) limit: Duration,
    /// Processes that could not be killed.
    pub(crate) survivors: &'a [u32],
    /// Added to the words about a kill.
    pub(crate) remark: &'a str,
}

impl Ending<'_> {
    /// The result with this output.
    pub(crate) fn result(
        &self,
        collected: crate::output::Collected,
        cwd_note: Option<String>,
    ) -> ForegroundResult {
        let remark = self.remark;
        let (exit_code, marker) = match self.finish {
            Finish::Ended(status) => (status.signed_code(), None),
            Finish::TimedOut => {
                let seconds = self.limit.as_secs();
                let marker = format!("[Command timed out after {seconds}s{remark}]");
                (124, Some(marker))
            }
            Finish::Interrupted => (130, Some(format!("[Command interrupted{remark}]"))),
        };
        let output = match (collected.text, marker) {
            (text, None) => text,
            (text, Some(marker)) if text.is_empty() => marker,
            (text, Some(marker)) => format!("{text}\n{marker}"),
        };
        let error = (!self.survivors.is_empty()).then(|| {
            let pids: Vec<String> = self.survivors.iter().map(u32::to_string).collect();
            format!("could not be killed and still run: {}", pids.join(", "))
        });
        ForegroundResult {
            output,
            exit_code,
            error,
            cwd_note,
            full_output: collected.full_output,
            interrupted: self.finish == Finish::Interrupted,
            shell_note: None,
        }
    }
}
