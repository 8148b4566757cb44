//! Starting a background process.
//!
//! The order matters: the backend starts the process, which waits where the backend can make it wait;
//! the process is written down with everything that is to happen at its end; only then does it run. A
//! crash in between leaves either nothing or a process that the next Hermes finds.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::{Child, ChildEnv, ChildSpec, Group, Streams};

use super::frame::{Frame, StartSpec};
use super::host::PolledProcess;
use super::link::Link;
use super::process::{Connection, Process};
use super::record::Record;
use super::registry::{MOST, Processes};
use crate::command::StartRequest;
use crate::shell::WorkdirError;

/// How long a supervisor may take to start the shell.
const START_LIMIT: Duration = Duration::from_secs(20);

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
pub(crate) enum StartedBy {
    /// By its supervisor on this machine, which waits for the word to go.
    Supervisor(Child, Link),
    Host(PolledProcess),
}

/// A background process that runs. All texts are redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub id: String,
    /// On the host it runs on.
    pub pid: u32,
    pub pty: PtyState,
    pub cwd_note: Option<String>,
    /// Who approved it, if it was flagged.
    pub approval: Option<String>,
    /// Whether it runs in the sandbox.
    pub sandboxed: bool,
}

/// Why a background process was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0}")]
    Failed(String),
    /// It was to be confined, and this machine cannot.
    #[error("{0}")]
    NoSandbox(String),
    #[error(transparent)]
    Process(#[from] hermes_proc::Error),
    #[error("lost the supervisor of the process: {0}")]
    Connection(#[from] io::Error),
    #[error(transparent)]
    Workdir(#[from] WorkdirError),
    #[error("the process was not started because it could not be recorded: {0}")]
    Record(#[from] hermes_fs::Error),
}

/// Starts this program again as a helper, the supervisor of a background process or the crash
/// guard;
/// the first frame tells it which of the two it is. It gets no variable, and of our descriptors
/// only
/// `inherited`.
pub(super) fn start_helper(
    command: &[OsString],
    inherited: Vec<OwnedFd>,
) -> Result<(Child, Link), StartError> {
    let Some((program, args)) = command.split_first() else {
        let reason = "no supervisor is configured for background processes";
        return Err(StartError::Failed(reason.to_owned()));
    };
    let (ours, theirs) = UnixStream::pair()?;
    let spec = ChildSpec {
        cwd: Some(PathBuf::from("/")),
        streams: Streams::Given {
            input: Some(theirs.into()),
            output: None,
        },
        group: Group::Session,
        inherited,
        kill_on_drop: false,
        ..ChildSpec::new(program, args, ChildEnv::default())
    };
    Ok((spec.spawn()?, Link::new(ours)))
}

/// Starts a process of this machine under a supervisor; it waits to be released. `mark` is the
/// value
/// of `HERMES_EXEC_ID` among its variables.
pub(crate) fn start_supervised(
    spec: StartSpec,
    mark: String,
    supervisor: &[OsString],
) -> Result<StartedProcess, StartError> {
    let (mut supervisor, mut link) = start_helper(supervisor, Vec::new())?;
    link.set_read_timeout(START_LIMIT)?;
    link.send_now(&Frame::Start(spec.encode()))?;
    let started = match link.wait_for_frame()? {
        Some(Frame::Started(started)) => started,
        answer => {
            let reason = match answer {
                Some(Frame::Failed(reason)) => reason,
                _ => "its supervisor ended".to_owned(),
            };
            // It has nothing left to do; how it ends does not matter.
            drop(supervisor.wait());
            return Err(StartError::Failed(format!(
                "the process did not start: {reason}"
            )));
        }
    };
    Ok(StartedProcess {
        pid: started.pid,
        start_time: started.start_time,
        pty: match (spec.pty, started.pty) {
            (_, true) => PtyState::Given,
            (true, false) => PtyState::Unavailable,
            (false, false) => PtyState::NotRequested,
        },
        cwd: spec.cwd,
        cwd_note: None,
        mark,
        started_by: StartedBy::Supervisor(supervisor, link),
    })
}

impl Processes {
    /// Starts one more process, if there may be one, and tracks it. `command` is how it is shown.
    pub(crate) fn start(
        &self,
        request: &StartRequest<'_>,
        id: &str,
        command: &str,
        sandboxed: bool,
        start: impl FnOnce() -> Result<StartedProcess, StartError>,
    ) -> Result<Started, StartError> {
        self.ensure_monitor()?;
        {
            let mut state = self.shared.lock();
            if state.running() >= MOST {
                return Err(StartError::Failed(format!(
                    "the limit of {MOST} background processes is reached; kill one first"
                )));
            }
            state.starting += 1;
            self.shared.forget_old(&mut state);
        }
        let started = start().and_then(|mut started| {
            let answer = Started {
                id: id.to_owned(),
                pid: started.pid,
                pty: started.pty,
                cwd_note: started.cwd_note.take(),
                approval: None,
                sandboxed,
            };
            let mut record = record(request, id, command, &started);
            record.set("sandboxed", sandboxed);
            self.track(id, record, started.started_by)?;
            Ok(answer)
        });
        self.shared.lock().starting -= 1;
        started
    }

    fn track(&self, id: &str, record: Record, started_by: StartedBy) -> Result<(), StartError> {
        let Some(mut process) = Process::from_record(record) else {
            return Err(StartError::Failed(
                "the process did not start: its entry made no sense".to_owned(),
            ));
        };
        let (link, host) = match started_by {
            StartedBy::Supervisor(supervisor, link) => {
                process.set_supervisor(supervisor);
                (Some(link), None)
            }
            StartedBy::Host(polled) => {
                let host = (Arc::clone(&polled.host), polled.seeds.clone());
                process.connection = Connection::Polled(polled);
                (None, Some(host))
            }
        };
        let recorded = self.shared.update(|state| {
            state.insert(process);
            let saved = self.shared.save(state);
            if saved.is_err() {
                state.processes.remove(id);
            }
            saved
        });
        if let Err(error) = recorded {
            // A process that nobody knows of must not run. A supervisor that is not told to go ends
            // its shell, which has not begun.
            if let Some((host, seeds)) = host
                && let Err(reason) = host.kill(&seeds, Duration::from_secs(1), true)
            {
                tracing::warn!(
                    reason,
                    "a process that could not be recorded may still be running"
                );
            }
            return Err(error.into());
        }
        if let Some(mut link) = link {
            link.send_now(&Frame::Go)?;
            link.set_nonblocking()?;
            self.shared.update(|state| {
                let Some(process) = state.processes.get_mut(id) else {
                    return Ok(());
                };
                process.connection = Connection::Supervisor(link);
                self.shared.listen(process)
            })?;
        }
        if let Some((host, _)) = host {
            self.listen_to(&host)?;
        }
        Ok(())
    }
}

fn record(request: &StartRequest<'_>, id: &str, command: &str, started: &StartedProcess) -> Record {
    let mut record = Record::default();
    record.set("session_id", id);
    record.set("command", command);
    record.set("pid", started.pid);
    let scope = match started.started_by {
        StartedBy::Supervisor(..) => "host",
        StartedBy::Host(_) => "sandbox",
    };
    record.set("pid_scope", scope);
    record.set("host_start_time", started.start_time);
    record.set("cwd", started.cwd.display().to_string());
    let now = jiff::Timestamp::now().as_duration().as_secs_f64();
    record.set("started_at", now);
    record.set("task_id", request.session.as_str());
    record.set("session_key", request.session.as_str());
    for name in WATCHER_TEXTS {
        record.set(&format!("watcher_{name}"), "");
    }
    record.set("watcher_interval", 0);
    record.set("notify_on_complete", request.notify);
    record.set("watch_patterns", request.watch_patterns);
    record.set("exec_id", started.mark.as_str());
    record.set("pty", started.pty == PtyState::Given);
    record
}

const WATCHER_TEXTS: &[&str] = &[
    "platform",
    "chat_id",
    "user_id",
    "user_name",
    "thread_id",
    "message_id",
];
