//! One background process, as Hermes knows it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hermes_proc::{Child, ProcessHandle, ProcessIdentity, ProcessTree, identity_of, start_time_of};
use serde_json::Value;

use super::host::PolledProcess;
use super::link::Link;
use super::notice::Ending;
use super::record::Record;
use super::tail::OutputTail;
use super::typed::TypedText;
use super::watch::Watch;
use crate::shell::SessionKey;

/// How a process is heard of.
pub(super) enum Connection {
    Supervisor(Link),
    /// It has none we can reach; its end is seen, its output is not.
    Seen(ProcessHandle),
    Polled(PolledProcess),
    None,
}

/// A tracked process.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that change independently"
)]
pub(super) struct Process {
    /// Fields of `processes.json`, those we do not know included.
    pub(super) record: Record,
    pub(super) id: String,
    pub(super) command: String,
    pub(super) cwd: String,
    pub(super) tree: ProcessTree,
    pub(super) started_at: SystemTime,
    pub(super) session: SessionKey,
    pub(super) pty: bool,
    pub(super) sandboxed: bool,
    pub(super) typed: TypedText,
    pub(super) detached: bool,
    pub(super) notify: bool,
    pub(super) watch: Watch,
    pub(super) output: OutputTail,
    pub(super) connection: Connection,
    pub(super) supervisor: Option<Child>,
    /// How it ended, and when; `None` while it runs.
    pub(super) ended: Option<(Ending, Instant)>,
    pub(super) kill_source: Option<String>,
    /// Callers who will show its end themselves.
    pub(super) waiters: usize,
    /// Whether the session has been shown its end.
    pub(super) end_was_shown: bool,
    pub(super) key: u64,
}

/// How long an ended process is remembered.
pub(super) const REMEMBERED: Duration = Duration::from_mins(30);

/// The supervisor that an entry names, if it still runs: its entries are about this boot.
fn supervisor_of(record: &Record) -> Option<ProcessIdentity> {
    let pid = u32::try_from(record.number("supervisor_pid")?).ok()?;
    let started = record.number("supervisor_start_time")?;
    identity_of(pid).filter(|identity| identity.start_time == started)
}

impl Process {
    /// A process from its entry; `None` if the entry lacks what makes it one.
    pub(super) fn from_record(record: Record) -> Option<Self> {
        let pid = u32::try_from(record.number("pid")?).ok()?;
        let started = record.float("started_at").unwrap_or_default();
        let started_at = Duration::try_from_secs_f64(started)
            .ok()
            .and_then(|since| UNIX_EPOCH.checked_add(since))
            .unwrap_or(UNIX_EPOCH);
        let text = |name: &str| record.text(name).unwrap_or_default().to_owned();
        let session = [text("session_key"), text("task_id")]
            .into_iter()
            .find(|key| !key.is_empty())
            .unwrap_or_default();
        Some(Self {
            id: record.id()?.to_owned(),
            command: text("command"),
            cwd: text("cwd"),
            tree: ProcessTree {
                leader: pid,
                start_time: record.number("host_start_time").unwrap_or(0),
                mark: text("exec_id"),
                supervisor: supervisor_of(&record),
                leader_is_ours: false,
            },
            started_at,
            session: SessionKey::new(session),
            pty: record.flag("pty"),
            sandboxed: record.flag("sandboxed"),
            typed: TypedText::default(),
            detached: false,
            notify: record.flag("notify_on_complete"),
            watch: Watch::new(record.texts("watch_patterns")),
            output: OutputTail::default(),
            connection: Connection::None,
            supervisor: None,
            ended: None,
            kill_source: None,
            waiters: 0,
            end_was_shown: false,
            key: 0,
            record,
        })
    }

    /// Remembers who supervises it, also for a later Hermes.
    pub(super) fn set_supervisor(&mut self, supervisor: Child) {
        let identity = identity_of(supervisor.pid());
        if let Some(identity) = &identity {
            self.record.set("supervisor_pid", identity.pid);
            let started = identity.start_time;
            self.record.set("supervisor_start_time", started);
        }
        self.tree.supervisor = identity;
        self.supervisor = Some(supervisor);
    }

    pub(super) fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    pub(super) fn ending(&self) -> Option<&Ending> {
        self.ended.as_ref().map(|(ending, _)| ending)
    }

    pub(super) fn uptime(&self) -> Duration {
        let since_end = self.ended.as_ref().map(|(_, at)| at.elapsed());
        let until = SystemTime::now().checked_sub(since_end.unwrap_or_default());
        until
            .and_then(|until| until.duration_since(self.started_at).ok())
            .unwrap_or_default()
    }

    /// The entry for `processes.json`.
    pub(super) fn to_record(&self) -> Record {
        let mut record = self.record.clone();
        record.set("notify_on_complete", self.notify);
        let watched = if self.watch.is_active() {
            self.watch.patterns()
        } else {
            &[]
        };
        let patterns: Vec<Value> = watched.iter().cloned().map(Value::from).collect();
        record.set("watch_patterns", patterns);
        let me = std::process::id();
        record.set("owner_pid", me);
        record.set("owner_start_time", start_time_of(me).unwrap_or(0));
        record
    }
}
