//! Starting a background process.
//!
//! The order matters: the supervisor starts the shell, which waits; the process is written down with
//! everything that is to happen at its end; only then does it run. A crash in between leaves either
//! nothing or a process that the next Hermes finds.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::frame::{Frame, StartSpec};
use super::process::{Connection, Process};
use super::record::Record;
use super::registry::{MOST, Registry, remove_files};
use super::second_self;
use crate::local::Shell;
use crate::local::WatcherFields;
use crate::session::SessionKey;
use hermes_fs::random_hex;

/// How long a supervisor may take to start the shell.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A process to start.
pub(super) struct NewProcess<'a> {
    pub(super) session: SessionKey,
    pub(super) task_id: &'a str,
    pub(super) command: &'a str,
    pub(super) cwd: &'a Path,
    pub(super) pty: bool,
    pub(super) notify: bool,
    pub(super) watch_patterns: &'a [String],
    pub(super) watcher: &'a WatcherFields,
    pub(super) shell: &'a Shell,
    pub(super) script: Vec<u8>,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) mark: String,
    /// How the supervisor is started.
    pub(super) supervisor: &'a [OsString],
}

/// A process that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewlyStarted {
    pub(super) id: String,
    pub(super) pid: u32,
    pub(super) pty: bool,
}

/// Why a background process was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There are as many as there may be.
    #[error("{MOST} background processes are running, which is the limit; kill one first")]
    TooMany,
    /// No program is configured to look after background processes.
    #[error("no supervisor is configured for background processes")]
    NoSupervisor,
    /// The supervisor did not start.
    #[error(transparent)]
    Supervisor(#[from] hermes_proc::Error),
    /// The supervisor could not start the shell.
    #[error("the process did not start: {0}")]
    Shell(String),
    /// The connection to the supervisor failed.
    #[error("lost the supervisor of the process: {0}")]
    Connection(#[from] io::Error),
    /// Its directory is missing, elsewhere.
    #[error("{0}")]
    Directory(String),
    /// It was not started elsewhere.
    #[error("{0}")]
    Elsewhere(String),
    /// It could not be written down, so it was not run.
    #[error("the process was not started because it could not be recorded: {0}")]
    Record(#[from] hermes_fs::Error),
}

impl Registry {
    pub(super) fn start(&self, new: NewProcess<'_>) -> Result<NewlyStarted, StartError> {
        self.ensure_monitor()?;
        self.counted(|| self.start_counted(new))
    }

    /// Starts one more process, if there may be one.
    pub(super) fn counted<T>(
        &self,
        start: impl FnOnce() -> Result<T, StartError>,
    ) -> Result<T, StartError> {
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
        let started = start();
        self.shared.lock().starting -= 1;
        started
    }

    fn start_counted(&self, new: NewProcess<'_>) -> Result<NewlyStarted, StartError> {
        let id = format!("proc_{}", random_hex(12));
        let spec = StartSpec {
            id: id.clone(),
            directory: self.shared.directory.clone(),
            shell: new.shell.path.clone(),
            kind: new.shell.kind,
            cwd: new.cwd.to_owned(),
            pty: new.pty,
            script: new.script.clone(),
            variables: new.variables.clone(),
        };
        let (mut supervisor, mut link) = second_self::start(new.supervisor, Vec::new())?;
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
        let record = NewRecord {
            id: &id,
            command: new.command,
            pid: started.pid,
            start_time: started.start_time,
            is_host: true,
            cwd: new.cwd,
            task_id: new.task_id,
            session: &new.session,
            watcher: new.watcher,
            notify: new.notify,
            watch_patterns: new.watch_patterns,
            mark: &new.mark,
            pty: started.pty,
        }
        .record();
        let Some(mut process) = Process::from_record(record) else {
            return Err(StartError::Shell("its supervisor made no sense".to_owned()));
        };
        process.supervisor = Some(supervisor);
        let recorded = self.shared.update(|state| {
            state.insert(process);
            let saved = self.shared.save(state);
            if saved.is_err() {
                state.processes.remove(&id);
            }
            saved
        });
        // Without the word to go the supervisor ends the shell, which has not begun.
        recorded?;
        link.send_now(&Frame::Go)?;
        link.set_nonblocking()?;
        self.shared.update(|state| {
            let Some(process) = state.processes.get_mut(&id) else {
                return Ok(());
            };
            process.connection = Connection::Supervisor(link);
            self.shared.listen(process)
        })?;
        Ok(NewlyStarted {
            id,
            pid: started.pid,
            pty: started.pty,
        })
    }
}

/// What is written down about a process that was started.
pub(super) struct NewRecord<'a> {
    pub(super) id: &'a str,
    pub(super) command: &'a str,
    pub(super) pid: u32,
    pub(super) start_time: u64,
    /// Whether the pid is one of this machine.
    pub(super) is_host: bool,
    pub(super) cwd: &'a Path,
    pub(super) task_id: &'a str,
    pub(super) session: &'a SessionKey,
    pub(super) watcher: &'a WatcherFields,
    pub(super) notify: bool,
    pub(super) watch_patterns: &'a [String],
    pub(super) mark: &'a str,
    pub(super) pty: bool,
}

impl NewRecord<'_> {
    pub(super) fn record(&self) -> Record {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs_f64();
        let mut record = Record::default();
        record.set("session_id", self.id);
        record.set("command", self.command);
        record.set("pid", self.pid);
        record.set("pid_scope", if self.is_host { "host" } else { "sandbox" });
        record.set("host_start_time", self.start_time);
        record.set("cwd", self.cwd.display().to_string());
        record.set("started_at", now);
        record.set("task_id", self.task_id);
        record.set("session_key", self.session.as_str());
        for name in WATCHER_TEXTS {
            record.set(&format!("watcher_{name}"), "");
        }
        record.set("watcher_interval", 0);
        for (name, value) in self.watcher {
            record.set(name, value.clone());
        }
        record.set("notify_on_complete", self.notify);
        let patterns: Vec<Value> = self
            .watch_patterns
            .iter()
            .cloned()
            .map(Value::from)
            .collect();
        record.set("watch_patterns", patterns);
        record.set("exec_id", self.mark);
        record.set("pty", self.pty);
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
