//! Processes that say in their environment whom they belong to.
//!
//! Whatever a program starts inherits its variables, also when it leaves the group and the session:
//! a variable that names an attempt or a command finds all of it again. Only processes of this user
//! can be read. This process and its ancestors are never among those found.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::time::{Duration, Instant};

use crate::{KillOutcome, ProcessHandle, ProcessIdentity, ancestors_of_self, linux};

/// How long a process is waited for before the table is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// A live process with the variables that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedProcess {
    /// Who it is.
    pub identity: ProcessIdentity,
    /// Whether it leads a session.
    pub leads_session: bool,
    /// The values, in the order in which the names were given.
    pub values: Vec<OsString>,
}

/// Live processes of this user in whose environment all of these names are set.
pub fn processes_marked(names: &[&str]) -> Vec<MarkedProcess> {
    let Some(boot_id) = linux::boot_id() else {
        return Vec::new();
    };
    let mut spared = ancestors_of_self();
    spared.push(std::process::id());
    let user = rustix::process::geteuid().as_raw();
    linux::pids_of_user(user)
        .into_iter()
        .filter(|pid| !spared.contains(pid))
        .filter_map(|pid| {
            let values = values(pid, names)?;
            // After the variables: they are those of the process that is looked at now.
            let stat = linux::stat(pid).filter(|stat| !stat.has_ended())?;
            Some(MarkedProcess {
                identity: ProcessIdentity {
                    pid,
                    start_time: stat.start_time,
                    boot_id: boot_id.clone(),
                },
                leads_session: stat.session == pid,
                values,
            })
        })
        .collect()
}

fn values(pid: u32, names: &[&str]) -> Option<Vec<OsString>> {
    let mut variables: BTreeMap<OsString, OsString> =
        linux::environment(pid)?.into_iter().collect();
    names
        .iter()
        .map(|name| variables.remove(OsStr::new(name)))
        .collect()
}

/// Ends (SIGKILL) every process that carries all of these marks, until there is none or `patience`
/// is used up.
pub fn kill_marked(marks: &[(&str, &OsStr)], patience: Duration) -> KillOutcome {
    let names: Vec<&str> = marks.iter().map(|(name, _)| *name).collect();
    let deadline = Instant::now() + patience;
    let mut forced = false;
    loop {
        let found: Vec<ProcessIdentity> = processes_marked(&names)
            .into_iter()
            .filter(|process| {
                let mut wanted = marks.iter().map(|(_, value)| *value);
                process
                    .values
                    .iter()
                    .all(|value| wanted.next() == Some(value))
            })
            .map(|process| process.identity)
            .collect();
        if found.is_empty() || Instant::now() >= deadline {
            let survivors = found.iter().map(|identity| identity.pid).collect();
            return KillOutcome { survivors, forced };
        }
        forced = true;
        for identity in &found {
            // Who cannot be opened or signalled is found again, and is a survivor in the end.
            if let Ok(Some(handle)) = ProcessHandle::open(identity) {
                drop(handle.kill());
                drop(handle.wait_for_exit(LOOK_AGAIN));
            }
        }
    }
}
