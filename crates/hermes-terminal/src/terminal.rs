//! The terminal of a process: commands and background processes of all its conversations, on one
//! backend.
//!
//! A command goes through here once on its way down (policy, password of sudo, backend) and once on
//! its way up (output redacted and cut, notes, exit code). This is the one place where text of
//! commands is redacted: outcomes, views of processes, notices and kept outputs leave it clean, and
//! nothing above redacts them again.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hermes_fs::random_hex;
use hermes_proc::Wake;
use hermes_secret::{Redactor, Sink};
use hermes_shell::{is_unfinished, lists_variables, runs_typed_text};

use crate::approval::{
    CommandApprover, CommandCheck, CommandDecision, CommandKind, Refusal, SudoSupport,
};
use crate::backend::{
    Backend, BackendCommand, BackendError, BackendOutcome, BackendProcess, CommandEnd, Confinement,
};
use crate::background::{
    Guarded, Input, Processes, SessionProcesses, StartError, Started, WriteError,
};
use crate::command::{CommandOutcome, CommandRequest, NotRun, StartRequest, SudoOutcome};
use crate::lock::lock;
use crate::old_files::{is_snapshot_name, remove_old_files};
use crate::output::{Collected, Collector, CollectorOptions, LiveOutput};
use crate::settings::TerminalSettings;
use crate::shell::{Session, SessionKey, SessionShell, Sessions, WorkdirError};
use crate::sudo::password_was_rejected;
use crate::wall::wall_hint;

/// Runs the commands of all conversations of a process on one backend.
pub struct Terminal {
    settings: TerminalSettings,
    backend: Arc<dyn Backend>,
    approver: Arc<dyn CommandApprover>,
    sudo: Option<Arc<dyn SudoSupport>>,
    redactor: Arc<Redactor>,
    sessions: Sessions,
    processes: Processes,
    /// Raised once, when the process is about to end.
    shutdown: Wake,
    running: Running,
    /// Output of the foreground commands that run.
    live: Mutex<HashMap<SessionKey, Arc<LiveOutput>>>,
}

/// What became of text for a pseudo-terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// It was typed. With a text if it was flagged and then approved.
    Sent { approval: Option<String> },
    /// Nothing was typed.
    Refused(Refusal),
}

/// Added to a refusal when the line it is about has been begun.
const OPEN_LINE: &str =
    " The beginning of the line is still there; send \\u0003 with write to clear it.";

#[derive(Default)]
struct Running {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Terminal {
    /// A terminal on this backend. Starts nothing.
    pub fn new(
        settings: TerminalSettings,
        backend: Arc<dyn Backend>,
        approver: Arc<dyn CommandApprover>,
        redactor: Arc<Redactor>,
    ) -> io::Result<Self> {
        let processes = Processes::new(&settings, redactor.clone())?;
        Ok(Self {
            settings,
            backend,
            approver,
            sudo: None,
            redactor,
            sessions: Sessions::default(),
            processes,
            shutdown: Wake::new()?,
            running: Running::default(),
            live: Mutex::default(),
        })
    }

    /// Gives commands with sudo a password.
    #[must_use]
    pub fn with_sudo(mut self, sudo: Arc<dyn SudoSupport>) -> Self {
        self.sudo = Some(sudo);
        self
    }

    /// The settings.
    pub fn settings(&self) -> &TerminalSettings {
        &self.settings
    }

    /// The host on which commands run.
    pub fn backend(&self) -> &dyn Backend {
        self.backend.as_ref()
    }

    /// The session of a conversation, begun if it is new.
    pub fn session(&self, key: &SessionKey) -> Arc<Session> {
        self.sessions.get(key, &self.backend.start_directory())
    }

    /// The background processes of all conversations.
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// The background processes that a conversation may see.
    pub fn processes_of(&self, session: &SessionKey) -> SessionProcesses<'_> {
        SessionProcesses {
            processes: &self.processes,
            session: session.clone(),
            shutdown: &self.shutdown,
        }
    }

    /// The last lines of the foreground command that runs in a session, redacted; none if none runs.
    pub fn last_lines(&self, session: &SessionKey, most: usize) -> Vec<String> {
        let live = lock(&self.live).get(session).map(Arc::clone);
        live.map_or_else(Vec::new, |live| live.last_lines(most))
    }

    /// Whether a command may run as the next one of this session, without running it. The texts of
    /// the decision are redacted.
    pub fn check(
        &self,
        session: &SessionKey,
        command: &str,
        workdir: Option<&str>,
        kind: CommandKind,
    ) -> CommandDecision {
        let key = session;
        let session = self.session(session);
        let inherited = |name: &str| self.backend.variable(&session, name);
        let shell = SessionShell::new(session.snapshot(), &inherited).in_directory(workdir);
        self.decide(&CommandCheck {
            session: key,
            command,
            kind,
            shell: &shell,
        })
    }

    fn decide(&self, check: &CommandCheck<'_>) -> CommandDecision {
        let redact = |text: Option<String>| text.map(|text| self.redact(&text));
        match self.approver.check(check) {
            CommandDecision::Allowed {
                approval,
                confinement,
            } => CommandDecision::Allowed {
                approval: redact(approval),
                confinement,
            },
            CommandDecision::Refused(refusal) => CommandDecision::Refused(Refusal {
                message: self.redact(&refusal.message),
                pattern_key: redact(refusal.pattern_key),
                description: redact(refusal.description),
                ..refusal
            }),
        }
    }

    /// Types text into the pseudo-terminal of a background process. What a shell there would run is
    /// decided about like a command; an error says why nothing could be typed at all.
    pub fn type_into(
        &self,
        key: &SessionKey,
        id: &str,
        text: &str,
        interrupt: &Wake,
    ) -> Result<Typed, WriteError> {
        let processes = self.processes_of(key);
        loop {
            let input = processes.input(id)?;
            if !runs_typed_text(&input.command) {
                processes.write(id, text.as_bytes().to_vec())?;
                return Ok(Typed::Sent { approval: None });
            }
            let line = input.typed.line(text);
            let sent = line.sent.as_deref().filter(|sent| !sent.trim().is_empty());
            let mut approval = None;
            if let Some(sent) = sent {
                match self.decide_typed(key, &input, sent) {
                    CommandDecision::Refused(mut refusal) => {
                        if input.typed.has_open_text() {
                            refusal.message.push_str(OPEN_LINE);
                        }
                        return Ok(Typed::Refused(refusal));
                    }
                    CommandDecision::Allowed { approval: by, .. } => approval = by,
                }
            }
            let unfinished = sent.is_some_and(is_unfinished);
            let mut after = input.typed.clone();
            after.typed(line, unfinished, approval.is_some());
            if approval.is_some() {
                interrupt.clear();
            }
            if processes.write_line(id, text.as_bytes(), &input.typed, after)? {
                return Ok(Typed::Sent { approval });
            }
        }
    }

    fn decide_typed(&self, key: &SessionKey, input: &Input, sent: &str) -> CommandDecision {
        let session = self.session(key);
        let inherited = |name: &str| self.backend.variable(&session, name);
        let shell = SessionShell::new(session.snapshot(), &inherited)
            .in_directory(Some(&input.cwd))
            .after(input.typed.ran());
        let confinement = if input.sandboxed {
            Confinement::Sandbox
        } else {
            Confinement::None
        };
        self.decide(&CommandCheck {
            session: key,
            command: sent.trim_end_matches('\n'),
            kind: CommandKind::Typed(confinement),
            shell: &shell,
        })
    }

    /// Runs a foreground command to its end.
    pub fn run(&self, request: &CommandRequest<'_>) -> Result<CommandOutcome, NotRun> {
        let longest = self.settings.longest_timeout;
        // What the user configured may be longer.
        if let Some(requested) = request.timeout.filter(|timeout| *timeout > longest) {
            return Err(NotRun::TimeoutTooLong { requested, longest });
        }
        let timeout = request.timeout.unwrap_or(self.settings.timeout);
        let (approval, confinement) = self.approve(
            request.session,
            request.command,
            request.workdir,
            CommandKind::Foreground,
            request.interrupt,
        )?;
        let outcome = self.run_confined(request, timeout, approval, confinement)?;
        // Somebody who sees what it was kept from may let it.
        if let Some(wall) = outcome.sandbox_hint.as_deref()
            && !outcome.interrupted
            && self.approver.allows_outside(request.command, wall)
        {
            request.interrupt.clear();
            let approval = "The user ran it again outside of the sandbox.".to_owned();
            return self.run_confined(request, timeout, Some(approval), Confinement::None);
        }
        Ok(outcome)
    }

    fn run_confined(
        &self,
        request: &CommandRequest<'_>,
        timeout: Duration,
        approval: Option<String>,
        confinement: Confinement,
    ) -> Result<CommandOutcome, NotRun> {
        // No password makes sudo work in the sandbox.
        let sudo = self
            .sudo
            .as_ref()
            .filter(|_| confinement == Confinement::None);
        let prepared = sudo.and_then(|sudo| sudo.prepare(request.command, request.session));
        let (command, input): (&str, &[u8]) = match &prepared {
            Some(prepared) => (&prepared.command, prepared.input.expose().as_bytes()),
            None => (request.command, b""),
        };
        let redactor = prepared
            .as_ref()
            .map(|prepared| Arc::new(self.redactor.that_knows(&prepared.password)));
        let mut outcome = self.run_on_backend(
            &BackendCommand {
                session: &self.session(request.session),
                command,
                workdir: request.workdir,
                timeout,
                input,
                confinement,
                interrupt: request.interrupt,
                shutdown: &self.shutdown,
            },
            redactor.as_ref().unwrap_or(&self.redactor),
        )?;
        if let Some(sudo) = sudo {
            let rejected = prepared.is_some() && password_was_rejected(&outcome.output);
            outcome.sudo = SudoOutcome {
                rejected,
                forgotten: rejected && sudo.rejected(request.session),
            };
        }
        outcome.approval = approval.map(|text| {
            if outcome.interrupted {
                format!("{text} The command was then interrupted.")
            } else {
                text
            }
        });
        Ok(outcome)
    }

    fn run_on_backend(
        &self,
        command: &BackendCommand<'_>,
        redactor: &Arc<Redactor>,
    ) -> Result<CommandOutcome, NotRun> {
        let _counted = self.running.count_in();
        let log = format!("{}.log", random_hex(16));
        // Where a command lists variables, their names tell which values are secret.
        let redactor = if lists_variables(command.command) {
            Arc::new(redactor.for_sink(Sink::Variables))
        } else {
            Arc::clone(redactor)
        };
        let live = Arc::new(LiveOutput::new(Arc::clone(&redactor)));
        let mut collector = Collector::new(CollectorOptions {
            most: self.settings.shown_output,
            full_output: Some(self.settings.output_directory().join(log)),
            redactor,
        })
        .watched_by(Arc::clone(&live));
        let key = command.session.key();
        lock(&self.live).insert(key.clone(), Arc::clone(&live));
        let ran = self
            .backend
            .run(command, &mut |bytes| collector.feed(bytes));
        // Scripts run several at once in a session; the output of another one stays.
        let mut watched = lock(&self.live);
        if watched
            .get(key)
            .is_some_and(|other| Arc::ptr_eq(other, &live))
        {
            watched.remove(key);
        }
        drop(watched);
        match ran {
            Ok(outcome) => {
                let plan = outcome.sandbox.clone();
                let mut outcome = self.outcome(outcome, command.timeout, collector.finish());
                if let Some(plan) = plan {
                    outcome.sandboxed = true;
                    let cwd = command.session.snapshot().cwd;
                    let hint = wall_hint(&outcome.output, outcome.exit_code, &cwd, &plan);
                    outcome.sandbox_hint = hint.map(|text| self.redact(&text));
                }
                Ok(outcome)
            }
            Err(BackendError::Workdir(WorkdirError::Forbidden(name))) => {
                Err(NotRun::ForbiddenInWorkdir(name))
            }
            Err(BackendError::NoSandbox(reason)) => Err(NotRun::NoSandbox(self.redact(&reason))),
            Err(error) => Ok(self.outcome_without_run(error)),
        }
    }

    fn outcome(
        &self,
        outcome: BackendOutcome,
        timeout: Duration,
        collected: Collected,
    ) -> CommandOutcome {
        let remark = &outcome.kill_remark;
        let (exit_code, marker) = match outcome.end {
            CommandEnd::Exited(code) => (code, None),
            CommandEnd::Lost => (-1, None),
            CommandEnd::TimedOut => {
                let seconds = timeout.as_secs();
                let marker = format!("[Command timed out after {seconds}s{remark}]");
                (124, Some(marker))
            }
            CommandEnd::Interrupted => (130, Some(format!("[Command interrupted{remark}]"))),
        };
        CommandOutcome {
            output: match (collected.text, marker) {
                (text, None) => text,
                (text, Some(marker)) if text.is_empty() => marker,
                (text, Some(marker)) => format!("{text}\n{marker}"),
            },
            exit_code,
            no_result: outcome.end == CommandEnd::Lost,
            interrupted: outcome.end == CommandEnd::Interrupted,
            error: outcome.error.map(|text| self.redact(&text)),
            cwd_note: outcome.cwd_note.map(|text| self.redact(&text)),
            shell_note: outcome.shell_note,
            full_output: collected.full_output,
            ..CommandOutcome::default()
        }
    }

    fn outcome_without_run(&self, error: BackendError) -> CommandOutcome {
        let mut outcome = CommandOutcome {
            exit_code: -1,
            ..CommandOutcome::default()
        };
        match error {
            BackendError::Workdir(error) => {
                outcome.exit_code = 126;
                outcome.output = self.redact(&error.to_string());
            }
            BackendError::NoSandbox(message) => {
                outcome.no_result = true;
                outcome.error = Some(self.redact(&message));
            }
            BackendError::Interrupted => {
                outcome.exit_code = 130;
                "[Command interrupted]".clone_into(&mut outcome.output);
                outcome.interrupted = true;
            }
            BackendError::NotStarted { message, cwd_note } => {
                outcome.no_result = true;
                outcome.error = Some(self.redact(&message));
                outcome.cwd_note = cwd_note.map(|text| self.redact(&text));
            }
        }
        outcome
    }

    /// Starts a background process.
    pub fn start(&self, request: &StartRequest<'_>) -> Result<Started, NotRun> {
        let (approval, confinement) = self.approve(
            request.session,
            request.command,
            request.workdir,
            CommandKind::Background,
            request.interrupt,
        )?;
        let session = self.session(request.session);
        let id = format!("proc_{}", random_hex(12));
        let sandboxed = confinement == Confinement::Sandbox;
        let process = BackendProcess {
            id: &id,
            session: &session,
            command: request.command,
            workdir: request.workdir,
            pty: request.pty,
            confinement,
            interrupt: request.interrupt,
            shutdown: &self.shutdown,
        };
        let started = self
            .processes
            .start(
                request,
                &id,
                &self.redact(request.command),
                sandboxed,
                || self.backend.start(&process),
            )
            .map_err(|error| match error {
                StartError::Workdir(WorkdirError::Forbidden(name)) => {
                    NotRun::ForbiddenInWorkdir(name)
                }
                StartError::NoSandbox(reason) => NotRun::NoSandbox(self.redact(&reason)),
                StartError::Workdir(error) => {
                    NotRun::MissingDirectory(self.redact(&error.to_string()))
                }
                error => NotRun::NotStarted(self.redact(&error.to_string())),
            })?;
        Ok(Started {
            cwd_note: started.cwd_note.map(|text| self.redact(&text)),
            approval,
            ..started
        })
    }

    /// Asks whether a command may run; who approved it, if anybody had to.
    fn approve(
        &self,
        session: &SessionKey,
        command: &str,
        workdir: Option<&str>,
        kind: CommandKind,
        interrupt: &Wake,
    ) -> Result<(Option<String>, Confinement), NotRun> {
        match self.check(session, command, workdir, kind) {
            CommandDecision::Allowed {
                approval,
                confinement,
            } => {
                if approval.is_some() {
                    // Who answers a prompt wants the command to run, whatever they typed while it
                    // was open.
                    interrupt.clear();
                }
                Ok((approval, confinement))
            }
            CommandDecision::Refused(refusal) => Err(NotRun::Refused(refusal)),
        }
    }

    /// Removes what earlier programs left: session files in the temporary directory and outputs
    /// older than a day. Called once at start.
    pub fn clean_up(&self) {
        let now = SystemTime::now();
        let snapshots = remove_old_files(&self.settings.temp_directory, now, is_snapshot_name);
        let outputs = remove_old_files(&self.settings.output_directory(), now, |_| true);
        if snapshots + outputs > 0 {
            tracing::info!(snapshots, outputs, "old files removed");
        }
    }

    /// Kills all foreground commands and waits until they are gone; `false` if some are still
    /// there after `limit`. Called when the process is told to end.
    pub fn shut_down(&self, limit: Duration) -> bool {
        self.shutdown.raise();
        self.backend.shut_down();
        let count = lock(&self.running.count);
        let (count, _) = self
            .running
            .changed
            .wait_timeout_while(count, limit, |count| *count > 0)
            .unwrap_or_else(PoisonError::into_inner);
        *count == 0
    }

    /// Ends everything that carries this value of `HERMES_EXEC_ID` (16 hexadecimal digits) should
    /// Hermes be killed, for as long as the answer lives. For programs that are not started as
    /// commands.
    pub fn guard_processes(&self, mark: &str) -> Option<Guarded<'_>> {
        self.backend.guard_processes(mark)
    }

    fn redact(&self, text: &str) -> String {
        self.redactor.redact(text).into_owned()
    }
}

impl Running {
    /// Counts a foreground command for as long as the value lives.
    fn count_in(&self) -> Counted<'_> {
        self.change(|count| count.saturating_add(1));
        Counted(self)
    }

    fn change(&self, change: impl FnOnce(usize) -> usize) {
        let mut count = lock(&self.count);
        *count = change(*count);
        self.changed.notify_all();
    }
}

struct Counted<'a>(&'a Running);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.change(|count| count.saturating_sub(1));
    }
}
