//! Ending background processes.

use std::time::{Duration, Instant};

use hermes_proc::{KillTiming, kill_tree};

use super::notice::Ending;
use super::process::Process;
use super::registry::Registry;
use crate::session::SessionKey;

/// How long the supervisor may take to report an end that has happened.
const REPORT_LIMIT: Duration = Duration::from_secs(2);

/// What became of a kill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Killed {
    /// Nothing of it is left.
    Gone(Ending),
    /// It had ended before.
    AlreadyExited(Ending),
    /// Some of it is left.
    Survived(Vec<u32>),
    /// There is no such process.
    NotFound,
}

impl Registry {
    /// Kills a process and everything it started. `source` says who wants it, for the record.
    pub fn kill(&self, id: &str, source: &str, grace: Duration) -> Killed {
        let tree = {
            let mut state = self.shared.lock();
            let Some(process) = state.processes.get_mut(id) else {
                return Killed::NotFound;
            };
            if let Some(ending) = process.ending() {
                return Killed::AlreadyExited(ending.clone());
            }
            process.kill_source = Some(source.to_owned());
            // The end is part of this answer.
            process.waiters += 1;
            process.tree.clone()
        };
        let outcome = kill_tree(
            &tree,
            KillTiming {
                grace: if grace.is_zero() {
                    Duration::from_secs(1)
                } else {
                    grace
                },
                force: !grace.is_zero(),
                ..KillTiming::default()
            },
        );
        let ending = if outcome.survivors.is_empty() {
            self.wait_for_end(id, REPORT_LIMIT)
        } else {
            None
        };
        self.shared.update(|state| {
            if let Some(process) = state.processes.get_mut(id) {
                process.waiters = process.waiters.saturating_sub(1);
            }
            if !outcome.survivors.is_empty() {
                if let Some(process) = state.processes.get_mut(id) {
                    process.kill_source = None;
                }
                return Killed::Survived(outcome.survivors.clone());
            }
            if ending.is_none() {
                // Nobody told us, but it is gone: that is certain, its code is a guess.
                let code = if outcome.forced { -9 } else { -15 };
                state.finish(id, Some(code), &self.shared.redactor);
                self.shared.save_best_effort(state);
            }
            state.end_was_shown(id);
            let ending = state.processes.get(id).and_then(|process| process.ending());
            ending.cloned().map_or(Killed::NotFound, Killed::Gone)
        })
    }

    /// Kills the processes of a session, or all; says how many were ended.
    pub fn kill_all(&self, session: Option<&SessionKey>, source: &str, grace: Duration) -> usize {
        self.kill_those(source, grace, |process| {
            session.is_none_or(|session| process.session == *session)
        })
    }

    /// Kills the processes that this registry started, and leaves those it found; says how many were
    /// ended.
    pub fn kill_started(&self, source: &str, grace: Duration) -> usize {
        self.kill_those(source, grace, |process| !process.detached)
    }

    fn kill_those(
        &self,
        source: &str,
        grace: Duration,
        wanted: impl Fn(&Process) -> bool,
    ) -> usize {
        let ids: Vec<String> = {
            let state = self.shared.lock();
            let running = state.processes.values().filter(|one| one.is_running());
            let wanted = running.filter(|process| wanted(process));
            wanted.map(|process| process.id.clone()).collect()
        };
        std::thread::scope(|scope| {
            let kills: Vec<_> = ids
                .iter()
                .map(|id| scope.spawn(|| matches!(self.kill(id, source, grace), Killed::Gone(_))))
                .collect();
            kills
                .into_iter()
                .filter_map(|kill| kill.join().ok())
                .filter(|gone| *gone)
                .count()
        })
    }

    /// Waits for the end of a process.
    pub(super) fn wait_for_end(&self, id: &str, limit: Duration) -> Option<Ending> {
        let deadline = Instant::now() + limit;
        let waiter = self.shared.add_waiter().ok()?;
        let ending = loop {
            let ending = self
                .shared
                .lock()
                .processes
                .get(id)
                .and_then(|process| process.ending().cloned());
            let left = deadline.saturating_duration_since(Instant::now());
            if ending.is_some() || left.is_zero() {
                break ending;
            }
            waiter.wait(left);
            waiter.clear();
        };
        self.shared.remove_waiter(&waiter);
        ending
    }
}
