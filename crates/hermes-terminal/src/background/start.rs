//! Starting a background process.
//!
//! The order matters: the backend starts the process, which waits where the backend can make it wait;
//! the process is written down with everything that is to happen at its end; only then does it run. A
//! crash in between leaves either nothing or a process that the next Hermes finds.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hermes_proc::Child;
use serde_json::Value;

use super::frame::{Frame, StartSpec};
use super::helper_process;
use super::link::Link;
use super::poll::PolledProcess;
use super::process::{Connection, Process};
use super::record::Record;
use super::registry::{MOST, Processes, remove_files};
use crate::shell::{SessionKey, Shell, WorkdirError};

/// How long a supervisor may take to start the shell.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A process of this machine to start under a supervisor.
pub(crate) struct NewProcess<'a> {
    pub(crate) id: &'a str,
    pub(crate) directory: &'a Path,
    pub(crate) cwd: &'a Path,
    pub(crate) pty: bool,
    pub(crate) shell: &'a Shell,
    pub(crate) script: Vec<u8>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) mark: String,
    pub(crate) supervisor: &'a [OsString],
}

/// Whether a process has a pseudo-terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PtyState {
    Given,
    NotRequested,
    /// None could be opened.
    Unavailable,
    RefusedForToken,
    Unsupported,
}

/// A process that a backend has started.
#[derive(Debug)]
pub struct StartedProcess {
    pub(crate) pid: u32,
    /// When it began, in the kernel's measure; 0 if only its host knows.
    pub(crate) start_time: u64,
    pub(crate) cwd: PathBuf,
    pub(crate) cwd_note: Option<String>,
    pub(crate) pty: PtyState,
    /// Value of its `HERMES_EXEC_ID`; empty if it has none.
    pub(crate) mark: String,
    pub(crate) started_by: StartedBy,
}

/// How a process that was just started is heard of.
#[derive(Debug)]
pub(crate) enum StartedBy {
    /// By its supervisor on this machine, which waits for the word to go.
    Supervisor(Child, Link),
    Host(PolledProcess),
}

/// What a new process is entered as.
pub(crate) struct NewEntry<'a> {
    pub(crate) id: &'a str,
    pub(crate) session: SessionKey,
    pub(crate) task_id: &'a str,
    /// The command as it is shown, redacted.
    pub(crate) command: &'a str,
    pub(crate) notify: bool,
    pub(crate) watch_patterns: &'a [String],
}

/// Why a background process was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{MOST} background processes are running, which is the limit; kill one first")]
    TooMany,
    #[error("no supervisor is configured for background processes")]
    NoSupervisor,
    #[error(transparent)]
    Supervisor(#[from] hermes_proc::Error),
    #[error("the process did not start: {0}")]
    Shell(String),
    #[error("lost the supervisor of the process: {0}")]
    Connection(#[from] io::Error),
    #[error(transparent)]
    Workdir(#[from] WorkdirError),
    #[error("{0}")]
    Remote(String),
    #[error("the process was not started because it could not be recorded: {0}")]
    Record(#[from] hermes_fs::Error),
}

/// Starts a process of this machine under a supervisor; it waits to be released.
pub(crate) fn start_supervised(new: NewProcess<'_>) -> Result<StartedProcess, StartError> {
    let spec = StartSpec {
        id: new.id.to_owned(),
        directory: new.directory.to_owned(),
        shell: new.shell.path.clone(),
        kind: new.shell.kind,
        cwd: new.cwd.to_owned(),
        pty: new.pty,
        script: new.script,
        variables: new.variables,
    };
    let (mut supervisor, mut link) = helper_process::start(new.supervisor, Vec::new())?;
    link.set_read_timeout(START_LIMIT)?;
    link.send_now(&Frame::Start(spec.encode()))?;
    let started = match link.wait_for_frame()? {
        Some(Frame::Started(started)) => started,
        Some(Frame::Failed(reason)) => {
            drop(supervisor.wait());
            return Err(StartError::Shell(reason));
        }
        _ => {
            drop(supervisor.wait());
            return Err(StartError::Shell("its supervisor ended".to_owned()));
        }
    };
    Ok(StartedProcess {
        pid: started.pid,
        start_time: started.start_time,
        cwd: new.cwd.to_owned(),
        cwd_note: None,
        pty: match (new.pty, started.pty) {
            (_, true) => PtyState::Given,
            (true, false) => PtyState::Unavailable,
            (false, false) => PtyState::NotRequested,
        },
        mark: new.mark,
        started_by: StartedBy::Supervisor(supervisor, link),
    })
}

impl Processes {
    /// Starts one more process, if there may be one, and tracks it.
    pub(crate) fn start(
        &self,
        entry: &NewEntry<'_>,
        start: impl FnOnce() -> Result<StartedProcess, StartError>,
    ) -> Result<NewlyStarted, StartError> {
        self.ensure_monitor()?;
        let gone = {
            let mut state = self.shared.lock();
            if state.running() >= MOST {
                return Err(StartError::TooMany);
            }
            state.starting += 1;
            state.forget_old(Instant::now())
        };
        for id in gone {
            remove_files(&self.shared.directory, &id);
        }
        let started = start().and_then(|started| self.track(entry, started));
        self.shared.lock().starting -= 1;
        started
    }

    fn track(
        &self,
        entry: &NewEntry<'_>,
        started: StartedProcess,
    ) -> Result<NewlyStarted, StartError> {
        let newly_started = NewlyStarted {
            pid: started.pid,
            cwd_note: started.cwd_note.clone(),
            pty: started.pty,
        };
        let Some(mut process) = Process::from_record(entry.record(&started)) else {
            return Err(StartError::Shell("its entry made no sense".to_owned()));
        };
        let (link, polled) = match started.started_by {
            StartedBy::Supervisor(supervisor, link) => {
                process.supervisor = Some(supervisor);
                (Some(link), None)
            }
            StartedBy::Host(polled) => {
                let target = polled.target();
                process.connection = Connection::Polled(polled);
                (None, Some(target))
            }
        };
        let recorded = self.shared.update(|state| {
            state.insert(process);
            let saved = self.shared.save(state);
            if saved.is_err() {
                state.processes.remove(entry.id);
            }
            saved
        });
        if let Err(error) = recorded {
            // A process that nobody knows of must not run. A supervisor that is not told to go ends
            // its shell, which has not begun.
            if let Some(target) = polled
                && let Err(reason) = target.kill(Duration::from_secs(1), true)
            {
                tracing::warn!(reason, "a process that could not be recorded may still run");
            }
            return Err(error.into());
        }
        match (link, polled) {
            (Some(mut link), _) => {
                link.send_now(&Frame::Go)?;
                link.set_nonblocking()?;
                self.shared.update(|state| {
                    let Some(process) = state.processes.get_mut(entry.id) else {
                        return Ok(());
                    };
                    process.connection = Connection::Supervisor(link);
                    self.shared.listen(process)
                })?;
            }
            (None, Some(target)) => self.listen_to(&target.host)?,
            (None, None) => {}
        }
        Ok(newly_started)
    }
}

/// What is said about a process that was started.
#[derive(Debug)]
pub(crate) struct NewlyStarted {
    pub(crate) pid: u32,
    pub(crate) cwd_note: Option<String>,
    pub(crate) pty: PtyState,
}

impl NewEntry<'_> {
    /// What is written down about the process.
    fn record(&self, started: &StartedProcess) -> Record {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs_f64();
        let mut record = Record::default();
        record.set("session_id", self.id);
        record.set("command", self.command);
        record.set("pid", started.pid);
        let scope = match started.started_by {
            StartedBy::Supervisor(..) => "host",
            StartedBy::Host(_) => "sandbox",
        };
        record.set("pid_scope", scope);
        record.set("host_start_time", started.start_time);
        record.set("cwd", started.cwd.display().to_string());
        record.set("started_at", now);
        record.set("task_id", self.task_id);
        record.set("session_key", self.session.as_str());
        for name in WATCHER_TEXTS {
            record.set(&format!("watcher_{name}"), "");
        }
        record.set("watcher_interval", 0);
        record.set("notify_on_complete", self.notify);
        let patterns: Vec<Value> = self
            .watch_patterns
            .iter()
            .cloned()
            .map(Value::from)
            .collect();
        record.set("watch_patterns", patterns);
        record.set("exec_id", started.mark.as_str());
        record.set("pty", started.pty == PtyState::Given);
        record
    }
}

const WATCHER_TEXTS: &[&str] = &[
    "platform",
    "chat_id",
    "user_id",
    "user_name",
    "thread_id",
    "message_id",
];
