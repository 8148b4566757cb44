//! Finding processes again that an earlier Hermes started.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Instant, SystemTime};

use hermes_proc::{
    KillTiming, ProcessHandle, ProcessIdentity, identity_of, kill_tree, start_time_of,
};

use super::files::{ExitRecord, Files};
use super::link::Link;
use super::process::{Connection, Process};
use super::record::Record;
use super::registry::{Processes, Shared, State};
use crate::old_files::remove_old_files;

impl Processes {
    /// Takes over what `processes.json` says is running, and tells of what has ended meanwhile.
    /// Called once, at start. A pid that means another process by now is never touched.
    pub fn recover(&self) -> hermes_fs::Result<usize> {
        let records = self.shared.file.load()?;
        let mut adopted = 0;
        let known: Vec<String> = records
            .iter()
            .filter_map(|record| record.id().map(str::to_owned))
            .collect();
        self.shared.update(|state| {
            for record in records {
                adopted += usize::from(self.shared.recover_one(state, record));
            }
            self.shared.save_best_effort(state);
        });
        if adopted > 0
            && let Err(error) = self.ensure_monitor()
        {
            tracing::error!(%error, "recovered processes cannot be monitored");
        }
        remove_old_files(&self.shared.directory, SystemTime::now(), |name| {
            let id = name.rsplit_once('.').map(|(id, _)| id.to_owned());
            id.is_some_and(|id| {
                !known.contains(&id) && !self.shared.lock().processes.contains_key(&id)
            })
        });
        Ok(adopted)
    }
}

impl Shared {
    /// Deals with one entry; says whether it is a running process that is ours now.
    fn recover_one(&self, state: &mut State, record: Record) -> bool {
        if has_live_owner(&record) {
            return false;
        }
        let is_host = record.text("pid_scope").is_none_or(|scope| scope == "host");
        let Some(mut process) = Process::from_record(record) else {
            return false;
        };
        if state.processes.contains_key(&process.id) {
            return false;
        }
        let id = process.id.clone();
        process.detached = true;
        if !is_host {
            // Its sandbox is gone with the process that made it: the entry goes.
            process.notify = false;
        }
        // A supervisor that answers knows its process better than any pid.
        let connection = match connect(&self.directory, &id) {
            Ok(link) => Some(Connection::Supervisor(link)),
            Err(_) => open(&process).map(Connection::Seen),
        };
        match connection {
            Some(connection) if is_host => {
                process.connection = connection;
                state.insert(process);
                let listening = state
                    .processes
                    .get(&id)
                    .map_or(Ok(()), |process| self.listen(process));
                if let Err(error) = listening {
                    tracing::warn!(%error, process = id, "a recovered process cannot be monitored");
                }
                true
            }
            _ => {
                let end = Files::of(&self.directory, &id).read_exit();
                if is_host && end.is_none() {
                    kill_lost(&process);
                }
                state.insert(process);
                self.finish_from_files(state, &id, end);
                if !is_host {
                    state.processes.remove(&id);
                }
                false
            }
        }
    }

    /// The process has ended without us: what it printed is in the log. What its supervisor says
    /// nobody was told, because we came when it was already leaving, is news.
    pub(super) fn finish_from_files(&self, state: &mut State, id: &str, end: Option<ExitRecord>) {
        if let Ok(mut log) = Files::of(&self.directory, id).read_log() {
            let unheard = end.as_ref().map_or(0, |end| end.unheard_bytes);
            let news = log.split_off(log.len().saturating_sub(unheard));
            state.history(id, &log);
            state.output(id, &news, Instant::now());
        }
        state.finish(id, end.map(|end| end.exit_code));
    }
}

/// Whether another Hermes that still runs looks after the process.
fn has_live_owner(record: &Record) -> bool {
    let Some(pid) = record
        .number("owner_pid")
        .and_then(|pid| u32::try_from(pid).ok())
    else {
        return false;
    };
    pid != std::process::id()
        && record.number("owner_start_time").is_some()
        && start_time_of(pid) == record.number("owner_start_time")
        && !hermes_proc::is_zombie(pid)
}

/// The process of an entry, if exactly that one still runs.
fn open(process: &Process) -> Option<ProcessHandle> {
    // Without a start time nobody can tell it from another with the same number.
    if process.tree.start_time == 0 {
        return None;
    }
    let identity = ProcessIdentity {
        start_time: process.tree.start_time,
        ..identity_of(process.tree.leader)?
    };
    ProcessHandle::open(&identity).ok().flatten()
}

/// Connects to the supervisor of a process.
pub(super) fn connect(directory: &Path, id: &str) -> io::Result<Link> {
    let directory = hermes_fs::open(directory).map_err(io::Error::other)?;
    // A short path to the same socket: a socket's path has room for a hundred characters only.
    let path = format!("/proc/self/fd/{}/{id}.sock", directory.as_raw_fd());
    let link = Link::new(UnixStream::connect(path)?);
    link.set_nonblocking()?;
    Ok(link)
}

/// Ends what is left of a process whose supervisor is gone without a last word: nobody would hear
/// of
/// it again. From a thread, because it may take seconds.
pub(super) fn kill_lost(process: &Process) {
    // Entries of other programs have no mark; what became of those is not ours to decide.
    if process.tree.mark.is_empty() {
        return;
    }
    let tree = process.tree.clone();
    let started = std::thread::Builder::new()
        .name("lost-process".to_owned())
        .spawn(move || kill_tree(&tree, KillTiming::default()));
    if let Err(error) = started {
        tracing::warn!(%error, process = process.id, "a lost process may still be running");
    }
}
