//! Ending background processes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_proc::{KillOutcome, KillTiming, ProcessTree, kill_tree};

use super::host::ProcessHost;
use super::notice::Ending;
use super::process::{Connection, Process};
use super::registry::Processes;

/// How long the supervisor may take to report an end that has happened.
const REPORT_LIMIT: Duration = Duration::from_secs(2);

/// What became of a kill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Killed {
    Gone(Ending),
    AlreadyExited(Ending),
    Survived(Vec<u32>),
    Unknown(String),
    NotFound,
}

enum Target {
    /// A tree of this machine, whose supervisor reports the end.
    Supervised(ProcessTree),
    /// Processes of a host, by what they are known to it.
    Polled(Arc<dyn ProcessHost>, String),
}

impl Target {
    fn of(process: &Process) -> Self {
        match &process.connection {
            Connection::Polled(polled) => {
                Self::Polled(Arc::clone(&polled.host), polled.seeds.clone())
            }
            Connection::Supervisor(_) | Connection::Seen(_) | Connection::None => {
                Self::Supervised(process.tree.clone())
            }
        }
    }

    /// Without grace nothing is forced.
    fn kill(&self, grace: Duration) -> Result<KillOutcome, String> {
        let force = !grace.is_zero();
        let grace = if force { grace } else { Duration::from_secs(1) };
        match self {
            Self::Supervised(tree) => Ok(kill_tree(
                tree,
                KillTiming {
                    grace,
                    force,
                    ..KillTiming::default()
                },
            )),
            Self::Polled(host, seeds) => host.kill(seeds, grace, force),
        }
    }
}

impl Processes {
    /// Kills a process and everything it started. `source` says who wants it, for the record.
    pub fn kill(&self, id: &str, source: &str, grace: Duration) -> Killed {
        // A polled process may have ended meanwhile.
        self.refresh(id);
        let target = {
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
            Target::of(process)
        };
        let outcome = match target.kill(grace) {
            Ok(outcome) => outcome,
            Err(reason) => return self.kill_failed(id, reason),
        };
        if let Target::Polled(..) = target {
            // What it printed before its end.
            self.refresh(id);
        }
        let ending = match target {
            Target::Supervised(_) if outcome.survivors.is_empty() => {
                self.wait_for_end(id, REPORT_LIMIT)
            }
            Target::Supervised(_) | Target::Polled(..) => None,
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
                state.finish(id, Some(code));
                self.shared.save_best_effort(state);
            }
            state.end_was_shown(id);
            let ending = state.processes.get(id).and_then(|process| process.ending());
            ending.cloned().map_or(Killed::NotFound, Killed::Gone)
        })
    }

    /// A kill of which nobody knows what it did: the process counts as running.
    fn kill_failed(&self, id: &str, reason: String) -> Killed {
        self.shared.update(|state| {
            if let Some(process) = state.processes.get_mut(id) {
                process.waiters = process.waiters.saturating_sub(1);
                process.kill_source = None;
            }
        });
        Killed::Unknown(reason)
    }

    /// Kills the processes that this registry started on this machine, and leaves those it found;
    /// says how many were ended. Polled ones go on: their host outlives us, or ends them.
    pub fn kill_started(&self, source: &str, grace: Duration) -> usize {
        let ids: Vec<String> = {
            let state = self.shared.lock();
            let running = state.processes.values().filter(|one| one.is_running());
            let ours = running.filter(|process| {
                !process.detached && !matches!(process.connection, Connection::Polled(_))
            });
            ours.map(|process| process.id.clone()).collect()
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
