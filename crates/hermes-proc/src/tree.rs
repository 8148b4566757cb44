//! All processes of one command, and ending them.
//!
//! A command's processes are its session leader, the leader's descendants, the members of its session
//! and group, and all that carry its mark, in the environment or with the kernel: a daemon that forked
//! twice, made a session of its own and emptied its environment is still found. So is whatever its
//! supervisor was given as its nearest living ancestor, and what has taken the kernel's mark away and
//! was given to us. Each process is remembered with its start time, and
//! one with another start time is never signalled. A kill is reported as done only when none is left.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::kernel_mark::{has_lost_mark, is_marked, number_of};
use crate::linux::{self, Stat};
use crate::orphans::is_adopted;
use crate::{ProcessHandle, ProcessIdentity, ancestors_of_self, is_same_live_process};

/// The variable that marks every process of one command.
pub(crate) const MARK: &str = "HERMES_EXEC_ID";
/// How long one process is waited for before the table is read again.
const REFRESH_INTERVAL: Duration = Duration::from_millis(25);
/// Pause before a table that may be incomplete is read again.
const RECHECK_PAUSE: Duration = Duration::from_millis(2);
/// On a busy machine some process ends during every reading; it is almost never one of ours.
const MOST_RECHECKS: u32 = 5;

/// Which processes belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessTree {
    /// The session leader; zero if it is not known, and then only the mark counts.
    pub leader: u32,
    /// When it started, in clock ticks since boot.
    pub start_time: u64,
    /// The value of `HERMES_EXEC_ID` in the environments of its processes.
    pub mark: String,
    /// A process that has started the leader and nobody else, and becomes the parent of whoever loses
    /// theirs ([`crate::adopt_orphans`]): all its children belong together.
    pub supervisor: Option<ProcessIdentity>,
    /// Whether the leader is a child of ours that nobody has reaped: then its group can be
    /// signalled as a whole, because the number cannot have been given out again.
    pub leader_is_ours: bool,
}

/// How long a kill waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KillTiming {
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// From SIGKILL to giving up.
    pub timeout: Duration,
    pub force: bool,
}

impl Default for KillTiming {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(1),
            timeout: Duration::from_secs(2),
            force: true,
        }
    }
}

/// What a kill left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KillOutcome {
    pub survivors: Vec<u32>,
    pub forced: bool,
}

/// SIGTERM to the group, then SIGKILL to the group, then SIGKILL to everyone who got away.
pub fn kill_tree(tree: &ProcessTree, timing: KillTiming) -> KillOutcome {
    let mut search = Search::new(tree);
    search.refresh();
    search.signal_group(Signal::TERM);
    let mut forced = false;
    if !search.wait(timing.grace, Member::InGroup) && timing.force {
        forced = true;
        search.signal_group(Signal::KILL);
        search.wait(timing.timeout, Member::InGroup);
    }
    if timing.force {
        let deadline = Instant::now() + timing.timeout;
        // A process that forks faster than the table is read is found in the next round. The last
        // reading decides: one more would find processes that were never signalled.
        while search.refresh_until_certain() && Instant::now() < deadline {
            forced = true;
            search.kill_each();
            search.wait(REFRESH_INTERVAL, Member::Any);
        }
    } else {
        search.refresh();
    }
    KillOutcome {
        survivors: search.alive.keys().copied().collect(),
        forced,
    }
}

impl ProcessTree {
    /// The pids of all its live processes.
    pub fn members(&self) -> Vec<u32> {
        let mut search = Search::new(self);
        search.refresh();
        search.alive.into_keys().collect()
    }
}

/// Whether a child of ours is an orphan of some command and has made itself unknown. Which command it
/// was nobody can tell any more, so it ends with the first that is ended and had begun before it.
fn is_escaped(pid: u32) -> bool {
    is_adopted(pid) && has_lost_mark(pid)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Member {
    InGroup,
    Any,
}

struct Search<'a> {
    tree: &'a ProcessTree,
    boot_id: String,
    own: u32,
    spared: Vec<u32>,
    /// What the kernel knows the command by.
    number: Option<u32>,
    /// The supervisor, if it lives.
    supervisor: Option<u32>,
    is_recycled: bool,
    /// All processes ever found, with their start times.
    known: BTreeMap<u32, u64>,
    /// Those of them that live, as of the last reading.
    alive: BTreeMap<u32, Stat>,
    /// Whether the last reading may have missed one.
    is_in_doubt: bool,
}

impl<'a> Search<'a> {
    fn new(tree: &'a ProcessTree) -> Self {
        let own = std::process::id();
        let mut spared = ancestors_of_self();
        spared.push(own);
        Self {
            tree,
            own,
            boot_id: linux::boot_id().unwrap_or_default(),
            spared,
            number: number_of(&tree.mark),
            supervisor: None,
            is_recycled: false,
            known: BTreeMap::from([(tree.leader, tree.start_time)]),
            alive: BTreeMap::new(),
            is_in_doubt: false,
        }
    }

    /// As [`Search::refresh`], but an answer that none lives is checked again: a process that was
    /// started after the table was read, or was about to become another program, is not in it.
    fn refresh_until_certain(&mut self) -> bool {
        for _ in 0..MOST_RECHECKS {
            if self.refresh() || !self.is_in_doubt {
                break;
            }
            std::thread::sleep(RECHECK_PAUSE);
        }
        !self.alive.is_empty()
    }

    /// Reads the process table again; returns whether any lives.
    fn refresh(&mut self) -> bool {
        let before: Vec<u32> = self.alive.keys().copied().collect();
        self.is_in_doubt = false;
        let table = self.table();
        // As long as anyone is in the leader's session or group, its number is not given out again.
        // If someone else has it, whoever is in "its" session or group is none of ours.
        self.is_recycled = linux::stat(self.tree.leader)
            .is_some_and(|stat| stat.start_time != self.tree.start_time);
        let supervisor = self.tree.supervisor.as_ref();
        self.supervisor = supervisor
            .filter(|supervisor| is_same_live_process(supervisor))
            .map(|supervisor| supervisor.pid);
        self.alive.clear();
        let mut unknown: Vec<(u32, Stat)> = Vec::new();
        for (pid, stat) in table {
            if self.known.get(&pid) == Some(&stat.start_time) || self.belongs(pid, stat) {
                self.add(pid, stat);
            } else {
                unknown.push((pid, stat));
            }
        }
        // Children of members are members, at any depth.
        loop {
            let (found, rest): (Vec<_>, Vec<_>) = unknown
                .into_iter()
                .partition(|(_, stat)| self.alive.contains_key(&stat.parent));
            unknown = rest;
            if found.is_empty() {
                break;
            }
            for (pid, stat) in found {
                self.add(pid, stat);
            }
        }
        self.alive.retain(|_, stat| !stat.has_ended());
        // A process that ended since the last reading may have left a child that this one came too
        // early for.
        self.is_in_doubt |= before.iter().any(|pid| !self.alive.contains_key(pid));
        !self.alive.is_empty()
    }

    fn add(&mut self, pid: u32, stat: Stat) {
        self.known.insert(pid, stat.start_time);
        self.alive.insert(pid, stat);
    }

    /// Everyone who started no earlier than the leader, ourselves and our ancestors apart: a command
    /// may have become another user. Zombies are in it: their children may live.
    fn table(&mut self) -> Vec<(u32, Stat)> {
        let mut table = Vec::new();
        for pid in linux::pids() {
            if self.spared.contains(&pid) {
                continue;
            }
            match linux::stat(pid) {
                Some(stat) if stat.start_time >= self.tree.start_time => table.push((pid, stat)),
                Some(_) => {}
                // It ended while we read; it may have been one of ours and have left a child.
                None => self.is_in_doubt = true,
            }
        }
        table
    }

    fn belongs(&mut self, pid: u32, stat: Stat) -> bool {
        let leader = self.tree.leader;
        // Zero is no leader, but it is the session of whoever was started outside this container.
        let is_near = leader != 0 && (stat.session == leader || stat.group == leader);
        (is_near && pid != leader && !self.is_recycled)
            || self.supervisor == Some(stat.parent)
            || (self.tree.leader_is_ours && stat.parent == self.own && is_escaped(pid))
            || self.number.is_some_and(|number| is_marked(pid, number))
            || (!self.tree.mark.is_empty() && self.is_marked(pid, stat))
    }

    fn is_marked(&mut self, pid: u32, stat: Stat) -> bool {
        let variables = linux::environment(pid).unwrap_or_default();
        if variables.is_empty() && !stat.has_ended() && linux::is_becoming_another(pid) {
            self.is_in_doubt = true;
        }
        variables
            .iter()
            .any(|(name, value)| name == MARK && value.as_bytes() == self.tree.mark.as_bytes())
    }

    fn signal_group(&self, signal: Signal) {
        let group = i32::try_from(self.tree.leader).ok().and_then(Pid::from_raw);
        if let (true, Some(group)) = (self.tree.leader_is_ours, group) {
            // No such group: everyone has ended already, which is what we want.
            let _: Result<(), _> = kill_process_group(group, signal);
            return;
        }
        // Held by a descriptor the group cannot become another one either. One by one they would
        // miss those that were started since the last reading.
        let leader = self.open(self.tree.leader, self.tree.start_time);
        if leader.is_some_and(|leader| leader.signal_group(signal)) {
            return;
        }
        for (pid, stat) in &self.alive {
            if stat.group == self.tree.leader && !self.is_recycled {
                self.send(*pid, stat.start_time, signal);
            }
        }
    }

    fn kill_each(&self) {
        for (pid, stat) in &self.alive {
            self.send(*pid, stat.start_time, Signal::KILL);
        }
    }

    fn send(&self, pid: u32, start_time: u64, signal: Signal) {
        let Some(handle) = self.open(pid, start_time) else {
            return;
        };
        // Who may not be signalled (a program with other rights) is reported as a survivor.
        drop(handle.send(signal));
    }

    fn open(&self, pid: u32, start_time: u64) -> Option<ProcessHandle> {
        let identity = ProcessIdentity {
            pid,
            start_time,
            boot_id: self.boot_id.clone(),
        };
        ProcessHandle::open(&identity).ok().flatten()
    }

    /// Waits until none of these is left; `false` if someone is at the deadline.
    fn wait(&mut self, limit: Duration, whom: Member) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            self.refresh();
            let leader = self.tree.leader;
            let next = self
                .alive
                .iter()
                .find(|(_, stat)| whom == Member::Any || stat.group == leader);
            let Some((&pid, &stat)) = next else {
                return true;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            if let Some(handle) = self.open(pid, stat.start_time) {
                // An error here costs one more reading of the table.
                drop(handle.wait_for_exit(left.min(REFRESH_INTERVAL)));
            }
        }
    }
}
