//! The background processes of one conversation: what it may see of them and do with them.
//!
//! A conversation sees its own processes and those of its sub-agents. All text is redacted here, as a
//! whole before it is cut: a cut could leave half a secret.

use std::time::{Duration, Instant, SystemTime};

use hermes_proc::{Wake, wait_for_any};

use super::frame::Frame;
use super::kill::Killed;
use super::notice::Ending;
use super::process::{Connection, Process};
use super::registry::{Processes, State};
use super::typed::TypedText;
use crate::output::tail_from_line_start;
use crate::shell::SessionKey;

/// How long a process may take to accept input.
const WRITE_LIMIT: Duration = Duration::from_secs(2);

/// A process as its conversation sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessView {
    pub id: String,
    pub command: String,
    pub cwd: String,
    pub pid: u32,
    pub started_at: SystemTime,
    pub uptime: Duration,
    /// How it ended; `None` while it runs.
    pub ending: Option<Ending>,
    pub output: String,
    pub detached: bool,
    pub watch_patterns: Vec<String>,
    pub watch_hit: bool,
    pub notify: bool,
}

/// Lines of a process's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    pub process: ProcessView,
    pub lines: String,
    pub start: usize,
    pub end: usize,
    pub total: usize,
}

/// Why a wait for a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnd {
    Exited,
    TimedOut,
    Interrupted,
}

/// Why nothing was written to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    #[error("no such background process")]
    NotFound,
    #[error("the process has ended")]
    Ended,
    #[error("writing to a process is supported by the local backend only")]
    Unsupported,
    #[error("the process has no input; start it again with pty=true to write to it")]
    NoTerminal,
    #[error("the process can no longer be reached")]
    Unreachable,
}

/// The processes of one conversation.
pub struct SessionProcesses<'a> {
    pub(crate) processes: &'a Processes,
    pub(crate) session: SessionKey,
    /// Raised when Hermes is about to end.
    pub(crate) shutdown: &'a Wake,
}

/// The pseudo-terminal of a process.
pub(crate) struct Input {
    /// What runs there.
    pub(crate) command: String,
    pub(crate) cwd: String,
    pub(crate) sandboxed: bool,
    pub(crate) typed: TypedText,
}

fn writable(process: &Process) -> Result<(), WriteError> {
    if !process.is_running() {
        return Err(WriteError::Ended);
    }
    if matches!(process.connection, Connection::Polled(_)) {
        return Err(WriteError::Unsupported);
    }
    if !process.pty {
        return Err(WriteError::NoTerminal);
    }
    Ok(())
}

impl SessionProcesses<'_> {
    /// All of them, oldest first, with up to `preview` characters of output.
    pub fn list(&self, preview: usize) -> Vec<ProcessView> {
        self.processes.refresh_all();
        let mut state = self.processes.shared.lock();
        self.processes.shared.forget_old(&mut state);
        let mut rows: Vec<&Process> = state
            .processes
            .values()
            .filter(|process| process.session == self.session)
            .collect();
        rows.sort_by_key(|process| process.started_at);
        rows.into_iter()
            .map(|process| self.view(process, preview))
            .collect()
    }

    /// Whether there is such a process.
    pub fn contains(&self, id: &str) -> bool {
        self.with(id, |_| ()).is_some()
    }

    /// A process now. With `end_is_shown` no notice about its end follows.
    pub fn poll(&self, id: &str, preview: usize, end_is_shown: bool) -> Option<ProcessView> {
        self.processes.refresh(id);
        self.with_state(id, |state| {
            if end_is_shown {
                state.end_was_shown(id);
            }
            Some(self.view(state.processes.get(id)?, preview))
        })
    }

    /// Lines of its output: `limit` of them from `offset`, or the last ones.
    pub fn log(&self, id: &str, offset: Option<usize>, limit: usize) -> Option<LogPage> {
        self.processes.refresh(id);
        self.with_state(id, |state| {
            let process = state.processes.get(id)?;
            let text = self.redact(process.output.text());
            let lines: Vec<&str> = text.lines().collect();
            let total = lines.len();
            let start = offset.unwrap_or(total.saturating_sub(limit)).min(total);
            let end = start.saturating_add(limit).min(total);
            let page = LogPage {
                process: self.view(process, 0),
                lines: lines.get(start..end).unwrap_or_default().join("\n"),
                start,
                end,
                total,
            };
            if end == total {
                state.end_was_shown(id);
            }
            Some(page)
        })
    }

    /// Waits for its end, which is then shown. An error means that no descriptor is left.
    pub fn wait(
        &self,
        id: &str,
        limit: Duration,
        interrupt: &Wake,
        preview: usize,
    ) -> std::io::Result<Option<(WaitEnd, ProcessView)>> {
        let waiter = self.processes.shared.add_waiter()?;
        self.with(id, |process| process.waiters += 1);
        self.processes.hurry(id);
        let deadline = Instant::now() + limit;
        let end = loop {
            waiter.clear();
            if self.with(id, |process| process.is_running()) != Some(true) {
                break WaitEnd::Exited;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break WaitEnd::TimedOut;
            }
            let flags = [&*waiter, interrupt, self.shutdown];
            if wait_for_any(&flags, left).is_some_and(|flag| flag > 0) {
                break WaitEnd::Interrupted;
            }
        };
        self.processes.shared.remove_waiter(&waiter);
        Ok(self.with_state(id, |state| {
            if let Some(process) = state.processes.get_mut(id) {
                process.waiters = process.waiters.saturating_sub(1);
            }
            state.end_was_shown(id);
            Some((end, self.view(state.processes.get(id)?, preview)))
        }))
    }

    /// Kills it and everything it started.
    pub fn kill(
        &self,
        id: &str,
        source: &str,
        grace: Duration,
        preview: usize,
    ) -> Option<(Killed, ProcessView)> {
        if !self.contains(id) {
            return None;
        }
        let killed = match self.processes.kill(id, source, grace) {
            Killed::Unknown(reason) => Killed::Unknown(self.redact(&reason)),
            killed => killed,
        };
        self.with(id, |process| (killed, self.view(process, preview)))
    }

    /// Its pseudo-terminal, and what has been typed there.
    pub(crate) fn input(&self, id: &str) -> Result<Input, WriteError> {
        let input = self.with(id, |process| {
            writable(process)?;
            Ok(Input {
                command: process.command.clone(),
                cwd: process.cwd.clone(),
                sandboxed: process.sandboxed,
                typed: process.typed.clone(),
            })
        });
        input.unwrap_or(Err(WriteError::NotFound))
    }

    /// Types a line that was looked at while `before` was all that had been typed; false, and
    /// nothing is typed, if that is no longer so.
    pub(crate) fn write_line(
        &self,
        id: &str,
        bytes: &[u8],
        before: &TypedText,
        after: TypedText,
    ) -> Result<bool, WriteError> {
        let is_current = self.with(id, |process| {
            let is_current = process.typed == *before;
            if is_current {
                process.typed = after;
            }
            is_current
        });
        match is_current {
            None => Err(WriteError::NotFound),
            Some(false) => Ok(false),
            Some(true) => self.write(id, bytes.to_vec()).map(|()| true),
        }
    }

    /// Types bytes into its pseudo-terminal.
    pub fn write(&self, id: &str, bytes: Vec<u8>) -> Result<(), WriteError> {
        let frame = Frame::Type(bytes);
        let written = self.with(id, |process| {
            writable(process)?;
            let Connection::Supervisor(link) = &mut process.connection else {
                return Err(WriteError::Unreachable);
            };
            let is_open = link.send(&frame.encode());
            link.flush(WRITE_LIMIT);
            if is_open {
                Ok(())
            } else {
                Err(WriteError::Unreachable)
            }
        });
        written.unwrap_or(Err(WriteError::NotFound))
    }

    fn redact(&self, text: &str) -> String {
        self.processes.shared.redactor.redact(text).into_owned()
    }

    fn view(&self, process: &Process, preview: usize) -> ProcessView {
        let output = match preview {
            0 => String::new(),
            _ => {
                let text = self.redact(process.output.text());
                tail_from_line_start(&text, preview).to_owned()
            }
        };
        ProcessView {
            id: process.id.clone(),
            command: self.redact(&process.command),
            cwd: self.redact(&process.cwd),
            pid: process.tree.leader,
            started_at: process.started_at,
            uptime: process.uptime(),
            ending: process.ending().cloned(),
            output,
            detached: process.detached,
            watch_patterns: process.watch.patterns().to_vec(),
            watch_hit: process.watch.has_hit,
            notify: process.notify,
        }
    }

    /// Uses the process, if there is one and the conversation may see it.
    fn with<T>(&self, id: &str, action: impl FnOnce(&mut Process) -> T) -> Option<T> {
        self.with_state(id, |state| state.processes.get_mut(id).map(action))
    }

    fn with_state<T>(&self, id: &str, action: impl FnOnce(&mut State) -> Option<T>) -> Option<T> {
        let mut state = self.processes.shared.lock();
        if state.processes.get(id)?.session != self.session {
            return None;
        }
        action(&mut state)
    }
}
