//! Processes found by variables in their environment.
//!
//! Everything a program starts inherits its variables, also when it leaves the group and the session:
//! a variable that names an attempt or a command finds all of its processes again. Only processes of this user
//! can be read. This process and its ancestors are never among those found.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::time::{Duration, Instant};

use crate::kernel_mark::{is_marked, number_of};
use crate::{KillOutcome, ProcessHandle, ProcessIdentity, ancestors_of_self, linux};

/// How long a process is waited for before the table is read again.
const REFRESH_INTERVAL: Duration = Duration::from_millis(25);

/// A live process with the variables that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedProcess {
    pub identity: ProcessIdentity,
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
            // After the variables: they are those of the process whose entry is read now.
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

/// Live processes of this user whose environment cannot be read, and that carry one of these marks of a
/// command all the same: a Hermes hides its own, and the kernel keeps the mark it was started with. The
/// position of the mark comes along.
pub fn hidden_processes_of(marks: &[String]) -> Vec<(usize, ProcessIdentity)> {
    let numbers: Vec<Option<u32>> = marks.iter().map(|mark| number_of(mark)).collect();
    if numbers.is_empty() {
        return Vec::new();
    }
    let Some(boot_id) = linux::boot_id() else {
        return Vec::new();
    };
    let mut spared = ancestors_of_self();
    spared.push(std::process::id());
    linux::pids_of_user(rustix::process::geteuid().as_raw())
        .into_iter()
        .filter(|pid| !spared.contains(pid) && linux::environment(*pid).is_none())
        .filter_map(|pid| {
            // Its own mark: commands it runs carry it as well, and show their environment.
            let own = |number: &Option<u32>| number.is_some_and(|number| is_marked(pid, number));
            let position = numbers.iter().position(own)?;
            let stat = linux::stat(pid).filter(|stat| !stat.has_ended())?;
            let identity = ProcessIdentity {
                pid,
                start_time: stat.start_time,
                boot_id: boot_id.clone(),
            };
            (stat.session == pid).then_some((position, identity))
        })
        .collect()
}

/// Ends (SIGKILL) every process that is meant, among those that carry these marks, until there is
/// none or `timeout` is used up.
pub fn kill_marked(
    names: &[&str],
    is_meant: impl Fn(&MarkedProcess) -> bool,
    timeout: Duration,
) -> KillOutcome {
    let deadline = Instant::now() + timeout;
    let mut forced = false;
    loop {
        let found: Vec<MarkedProcess> = processes_marked(names)
            .into_iter()
            .filter(&is_meant)
            .collect();
        if found.is_empty() || Instant::now() >= deadline {
            let survivors = found.iter().map(|one| one.identity.pid).collect();
            return KillOutcome { survivors, forced };
        }
        forced = true;
        for process in &found {
            // Who cannot be opened or signalled is found again, and is a survivor in the end.
            if let Ok(Some(handle)) = ProcessHandle::open(&process.identity) {
                drop(handle.kill());
                drop(handle.wait_for_exit(REFRESH_INTERVAL));
            }
        }
    }
}
