//! Which processes of this machine belong to which attempt at a card of a board.
//!
//! Every process that a worker starts inherits the variables that name board, card and attempt, so
//! its processes are found whether or not the worker was recorded. The worker itself, a Hermes, shows
//! its variables to nobody; it is known by a mark that the kernel keeps.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hermes_config::vars;
use hermes_proc::{
    MarkedProcess, ProcessIdentity, environment_of, hidden_processes_of, identity_of,
    processes_marked,
};

use crate::boards::Board;
use crate::dispatch::local::children::Children;
use crate::dispatch::local::exit_record::read_exit_record;
use crate::dispatch::local::identity::ProcessSpace;
use crate::dispatch::{AttemptProcesses, Processes};
use crate::model::{RunId, TaskId, WorkerExit, WorkerIdentity};
use crate::plan::WorkerRef;

/// The variable that marks the processes of one command.
pub(super) const EXEC_ID: &str = "HERMES_EXEC_ID";

/// Board, card and attempt.
pub(super) fn mark_names() -> [&'static str; 3] {
    [
        vars::HERMES_KANBAN_DB.name,
        vars::HERMES_KANBAN_TASK.name,
        vars::HERMES_KANBAN_RUN_ID.name,
    ]
}

/// Processes of attempts at cards of a board.
#[derive(Debug)]
pub(super) struct Attempts<'b> {
    board: &'b Board,
    pub(super) space: ProcessSpace,
    found: BTreeMap<(TaskId, RunId), Vec<MarkedProcess>>,
    /// Workers whose environment cannot be read.
    hidden: BTreeMap<(TaskId, RunId), ProcessIdentity>,
}

impl<'b> Attempts<'b> {
    /// Without a scan.
    pub(super) fn unknown(board: &'b Board) -> Self {
        Self {
            board,
            space: ProcessSpace::own(),
            found: BTreeMap::new(),
            hidden: BTreeMap::new(),
        }
    }

    /// Scans every process of this user.
    pub(super) fn scan(board: &'b Board) -> Self {
        let mut attempts = Self::unknown(board);
        let matcher = BoardMatcher::of(board);
        for process in processes_marked(&mark_names()) {
            if let Some(attempt) = matcher.attempt_of(&process) {
                attempts.found.entry(attempt).or_default().push(process);
            }
        }
        attempts
    }

    /// Looks for workers of these attempts that hide their environment, as a Hermes does; they are
    /// known by the mark they were started with.
    pub(super) fn find_hidden(&mut self, candidates: &[(TaskId, RunId)]) {
        let marks: Vec<String> = candidates
            .iter()
            .map(|(task, run)| exec_id(&self.board.database, task, *run))
            .collect();
        for (position, identity) in hidden_processes_of(&marks) {
            if let Some(attempt) = candidates.get(position) {
                self.hidden.insert(attempt.clone(), identity);
            }
        }
    }

    /// Every attempt with live processes, with one of them.
    pub(super) fn each(&self) -> impl Iterator<Item = WorkerRef> {
        let found = self.found.iter().filter_map(|((task, run), processes)| {
            let leader = self.leader(task, *run);
            let identity = leader.or_else(|| processes.first().map(|one| &one.identity))?;
            Some(self.reference(task, *run, identity))
        });
        let hidden = self.hidden.iter();
        let hidden = hidden.filter(|(attempt, _)| !self.found.contains_key(*attempt));
        let hidden = hidden.map(|((task, run), identity)| self.reference(task, *run, identity));
        found.chain(hidden)
    }

    fn reference(&self, task: &TaskId, run: RunId, identity: &ProcessIdentity) -> WorkerRef {
        WorkerRef {
            task: task.clone(),
            run: Some(run),
            pid: Some(identity.pid),
            identity: Some(self.space.record(identity)),
        }
    }

    /// The worker itself, if it is alive: it carries the mark of this start, which its children do not
    /// keep. A worker of another program is the first process that leads a session.
    pub(super) fn leader(&self, task: &TaskId, run: RunId) -> Option<&ProcessIdentity> {
        let attempt = (task.clone(), run);
        if let Some(hidden) = self.hidden.get(&attempt) {
            return Some(hidden);
        }
        let processes = self.found.get(&attempt)?;
        let leaders = || processes.iter().filter(|process| process.leads_session);
        let mark = exec_id(&self.board.database, task, run);
        let own = leaders().find(|process| carries(process.identity.pid, &mark));
        let leader = own.or_else(|| {
            let foreign = leaders().filter(|process| !carries_any(process.identity.pid));
            foreign.min_by_key(|process| process.identity.start_time)
        });
        leader.map(|process| &process.identity)
    }
}

/// Recognises a board by the path of its database.
pub(super) struct BoardMatcher {
    database: PathBuf,
    canonical: Option<PathBuf>,
}

impl BoardMatcher {
    pub(super) fn of(board: &Board) -> Self {
        Self {
            database: board.database.clone(),
            canonical: hermes_fs::canonicalize(&board.database).ok(),
        }
    }

    fn matches(&self, database: &OsStr) -> bool {
        let named = Path::new(database);
        named == self.database
            || (self.canonical.is_some() && hermes_fs::canonicalize(named).ok() == self.canonical)
    }

    /// The attempt a process belongs to, if it is one at a card of this board.
    pub(super) fn attempt_of(&self, process: &MarkedProcess) -> Option<(TaskId, RunId)> {
        let [database, task, run] = process.values.as_slice() else {
            return None;
        };
        let run: i64 = run.to_str()?.parse().ok()?;
        let task = TaskId::new(task.to_str()?);
        self.matches(database).then_some((task, RunId(run)))
    }
}

/// What is known about the workers of a board.
pub(super) struct Workers<'w> {
    pub(super) attempts: &'w Attempts<'w>,
    pub(super) children: &'w Children,
}

impl Processes for Workers<'_> {
    fn boot_id(&self) -> &str {
        self.attempts.space.recorded()
    }

    fn age_of(&self, task: &TaskId, pid: u32, identity: Option<&WorkerIdentity>) -> Option<i64> {
        let identity = match identity {
            Some(identity) => self.attempts.space.process(pid, identity)?,
            // Another program recorded only the process id: the process must name this card.
            None => identity_of(pid).filter(|_| names_card(pid, task))?,
        };
        let age = hermes_proc::age_of(&identity)?;
        i64::try_from(age.as_secs()).ok()
    }

    fn is_gone(&self, pid: u32, identity: &WorkerIdentity) -> bool {
        let space = &self.attempts.space;
        match space.process(pid, identity) {
            Some(process) => !hermes_proc::is_same_live_process(&process),
            None => space.is_of_another_boot(identity),
        }
    }

    fn of_attempt(&self, task: &TaskId, run: RunId) -> AttemptProcesses {
        match self.attempts.leader(task, run) {
            Some(leader) => AttemptProcesses::Worker(self.attempts.reference(task, run, leader)),
            None if self.attempts.found.contains_key(&(task.clone(), run)) => {
                AttemptProcesses::ChildrenOnly
            }
            None => AttemptProcesses::None,
        }
    }

    fn exit_of(&self, task: &TaskId, run: RunId) -> Option<WorkerExit> {
        let board = self.attempts.board;
        let seen = self.children.exit_of(board, task, run);
        seen.or_else(|| read_exit_record(board, task, run))
    }
}

/// Whether a process names the card in its environment or its arguments.
pub(crate) fn names_card(pid: u32, task: &TaskId) -> bool {
    let named = variable(pid, vars::HERMES_KANBAN_TASK.name);
    named.is_some_and(|named| named == task.as_str())
        || hermes_proc::command_line(pid).is_some_and(|words| {
            let last_word = |word: &str| word.split(' ').next_back() == Some(task.as_str());
            words
                .iter()
                .any(|word| word.to_str().is_some_and(last_word))
        })
}

fn carries(pid: u32, exec_id: &str) -> bool {
    variable(pid, EXEC_ID).is_some_and(|value| value == exec_id)
}

fn carries_any(pid: u32) -> bool {
    variable(pid, EXEC_ID).is_some()
}

fn variable(pid: u32, name: &str) -> Option<std::ffi::OsString> {
    let variables = environment_of(pid)?;
    variables
        .into_iter()
        .find_map(|(one, value)| (one == name).then_some(value))
}

/// The mark of the worker of one attempt, the same for everyone who computes it.
pub(super) fn exec_id(database: &Path, task: &TaskId, run: RunId) -> String {
    mark(&[
        database.as_os_str().as_encoded_bytes(),
        task.as_str().as_bytes(),
        &run.0.to_le_bytes(),
    ])
}

/// The mark of the checks of a card. There is one session at a time, so the next one finds what an
/// earlier one left.
pub(crate) fn check_mark(database: &Path, task: &TaskId) -> String {
    mark(&[
        database.as_os_str().as_encoded_bytes(),
        b"check",
        task.as_str().as_bytes(),
    ])
}

/// Sixteen digits that differ where the parts do (FNV-1a).
fn mark(parts: &[&[u8]]) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_has_a_mark_of_its_own() {
        let mark = |database: &str, task, run| {
            exec_id(Path::new(database), &TaskId::from_bits(task), RunId(run))
        };
        let one = mark("/a/kanban.db", 1, 1);
        assert_eq!(one.len(), 16);
        assert_eq!(one, mark("/a/kanban.db", 1, 1));
        for other in [
            mark("/b/kanban.db", 1, 1),
            mark("/a/kanban.db", 2, 1),
            mark("/a/kanban.db", 1, 2),
        ] {
            assert_ne!(one, other);
        }
    }
}
