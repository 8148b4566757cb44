//! Background processes that are heard of by asking their host.
//!
//! A host is asked for all its processes at once: every two seconds, more often after a start and
//! while someone waits for an end, and whenever a caller wants to know now. The thread that asks ends
//! with the last process of its host.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use hermes_proc::{KillOutcome, Wake};

use super::notice::EndReason;
use super::process::Connection;
use super::registry::{Processes, Shared, State};

/// Pauses after a start, and then the last one for ever.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(2),
];
/// The pause while someone waits for an end.
const HURRIED: Duration = Duration::from_millis(200);

/// A host that starts processes which go on without us, and that answers questions about them.
pub(crate) trait ProcessHost: Send + Sync {
    /// Answers by process id; a process without an answer is asked about again.
    fn ask(
        self: Arc<Self>,
        questions: &[StatusQuestion],
    ) -> Result<BTreeMap<String, StatusAnswer>, ProcessHostError>;

    /// Ends a process and everything it started; the error says why nobody can tell what is left.
    fn kill(&self, seeds: &str, grace: Duration, force: bool) -> Result<KillOutcome, String>;

    /// Held by whoever asks, so that no news is fetched twice.
    fn asking(&self) -> &Mutex<()>;

    /// A process is not tracked any more.
    fn forget(&self);
}

/// Why there is no answer.
pub(crate) enum ProcessHostError {
    Gone(String),
    Unanswered(String),
}

/// A question about one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatusQuestion {
    pub(crate) id: String,
    pub(crate) pid: u32,
    pub(crate) offset: u64,
}

/// The answer about one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StatusAnswer {
    pub(crate) is_alive: bool,
    pub(crate) exit_code: Option<i32>,
    pub(crate) size: u64,
    pub(crate) output: Vec<u8>,
}

/// A process that its host is asked about.
pub(crate) struct PolledProcess {
    pub(crate) pid: u32,
    /// By what its processes are known to a kill.
    pub(crate) seeds: String,
    offset: u64,
    /// Whether it was missing at the last answer, without a record of its end.
    is_missing: bool,
    host: Arc<dyn ProcessHost>,
}

/// How to end a polled process.
pub(crate) struct KillTarget {
    pub(crate) host: Arc<dyn ProcessHost>,
    seeds: String,
}

impl KillTarget {
    pub(crate) fn kill(&self, grace: Duration, force: bool) -> Result<KillOutcome, String> {
        self.host.kill(&self.seeds, grace, force)
    }
}

enum NewState {
    Running,
    Exited(i32),
    Lost,
}

impl PolledProcess {
    pub(crate) fn new(pid: u32, seeds: String, host: Arc<dyn ProcessHost>) -> Self {
        Self {
            pid,
            seeds,
            offset: 0,
            is_missing: false,
            host,
        }
    }

    pub(crate) fn target(&self) -> KillTarget {
        KillTarget {
            host: Arc::clone(&self.host),
            seeds: self.seeds.clone(),
        }
    }

    fn question(&self, id: &str) -> StatusQuestion {
        StatusQuestion {
            id: id.to_owned(),
            pid: self.pid,
            offset: self.offset,
        }
    }

    /// What an answer means for it.
    fn update(&mut self, answer: &StatusAnswer) -> NewState {
        self.offset = self.offset.max(answer.size);
        match (answer.exit_code, answer.is_alive) {
            (Some(code), _) => NewState::Exited(code),
            (None, true) => NewState::Running,
            // Its end may be about to be written down: it is asked about once more.
            (None, false) if !self.is_missing => {
                self.is_missing = true;
                NewState::Running
            }
            (None, false) => NewState::Lost,
        }
    }
}

impl std::fmt::Debug for PolledProcess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PolledProcess")
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

impl Drop for PolledProcess {
    fn drop(&mut self) {
        self.host.forget();
    }
}

/// A thread that asks one host.
pub(super) struct Poller {
    host: Weak<dyn ProcessHost>,
    /// Raised to ask at once.
    pub(super) wake: Arc<Wake>,
}

fn is_same(one: &Weak<dyn ProcessHost>, other: &Arc<dyn ProcessHost>) -> bool {
    std::ptr::addr_eq(one.as_ptr(), Arc::as_ptr(other))
}

impl Processes {
    /// Makes sure that the host is asked for news, and soon.
    pub(super) fn listen_to(&self, host: &Arc<dyn ProcessHost>) -> std::io::Result<()> {
        let mut state = self.shared.lock();
        if let Some(poller) = state.poller(host) {
            poller.wake.raise();
            return Ok(());
        }
        let wake = Arc::new(Wake::new()?);
        let thread = PollThread {
            shared: Arc::downgrade(&self.shared),
            host: Arc::downgrade(host),
            wake: Arc::clone(&wake),
        };
        std::thread::Builder::new()
            .name("remote-processes".to_owned())
            .spawn(move || thread.run())?;
        state.pollers.push(Poller {
            host: Arc::downgrade(host),
            wake,
        });
        Ok(())
    }

    /// Fetches the news of a polled process, and of all others of its host.
    pub(super) fn refresh(&self, id: &str) {
        let host = self.shared.lock().host_of(id);
        if let Some(host) = host {
            self.shared.ask(&host);
        }
    }

    /// Fetches the news of all polled processes.
    pub(super) fn refresh_all(&self) {
        let hosts: Vec<_> = {
            let state = self.shared.lock();
            let pollers = state.pollers.iter();
            pollers.filter_map(|poller| poller.host.upgrade()).collect()
        };
        for host in hosts {
            self.shared.ask(&host);
        }
    }

    /// Someone waits for a process: its host is asked more often.
    pub(super) fn hurry(&self, id: &str) {
        let state = self.shared.lock();
        if let Some(host) = state.host_of(id)
            && let Some(poller) = state.poller(&host)
        {
            poller.wake.raise();
        }
    }
}

impl State {
    /// The host of a polled process that runs.
    fn host_of(&self, id: &str) -> Option<Arc<dyn ProcessHost>> {
        match &self.processes.get(id)?.connection {
            Connection::Polled(process) => Some(Arc::clone(&process.host)),
            Connection::Supervisor(_) | Connection::Seen(_) | Connection::None => None,
        }
    }

    fn poller(&self, host: &Arc<dyn ProcessHost>) -> Option<&Poller> {
        self.pollers
            .iter()
            .find(|poller| is_same(&poller.host, host))
    }

    /// The questions about the processes of a host.
    fn questions(&self, host: &Weak<dyn ProcessHost>) -> Vec<StatusQuestion> {
        let processes = self.processes.values();
        processes
            .filter_map(|process| match &process.connection {
                Connection::Polled(polled) if is_same(host, &polled.host) => {
                    Some(polled.question(&process.id))
                }
                _ => None,
            })
            .collect()
    }

    fn is_awaited(&self, host: &Weak<dyn ProcessHost>) -> bool {
        self.processes.values().any(|process| {
            matches!(&process.connection, Connection::Polled(polled) if is_same(host, &polled.host))
                && process.waiters > 0
        })
    }
}

impl Shared {
    /// Asks a host for all its processes, one caller at a time.
    fn ask(&self, host: &Arc<dyn ProcessHost>) {
        let _turn = host.asking().lock().unwrap_or_else(PoisonError::into_inner);
        let questions = self.lock().questions(&Arc::downgrade(host));
        if questions.is_empty() {
            return;
        }
        match Arc::clone(host).ask(&questions) {
            Ok(answers) => self.update(|state| {
                let mut has_ended = false;
                for (id, answer) in &answers {
                    has_ended |= self.hear_from(state, id, answer);
                }
                if has_ended {
                    self.save_best_effort(state);
                }
            }),
            Err(ProcessHostError::Gone(error)) => {
                tracing::warn!(%error, "its background processes are lost");
                self.update(|state| {
                    for StatusQuestion { id, .. } in &questions {
                        state.finish_as(id, Some(-1), EndReason::Lost, &self.redactor);
                    }
                    self.save_best_effort(state);
                });
            }
            Err(ProcessHostError::Unanswered(error)) => {
                tracing::debug!(%error, "no news of background processes");
            }
        }
    }

    /// Takes an answer about one process; says whether it has ended.
    fn hear_from(&self, state: &mut State, id: &str, answer: &StatusAnswer) -> bool {
        let Some(process) = state.processes.get_mut(id) else {
            return false;
        };
        let is_being_killed = process.kill_source.is_some();
        let Connection::Polled(polled) = &mut process.connection else {
            return false;
        };
        let new_state = polled.update(answer);
        state.output(id, &answer.output, Instant::now(), &self.redactor);
        match new_state {
            // The kill reports the end.
            _ if is_being_killed => return false,
            NewState::Running => return false,
            NewState::Exited(code) => state.finish(id, Some(code), &self.redactor),
            NewState::Lost => state.finish_as(id, Some(-1), EndReason::Lost, &self.redactor),
        }
        true
    }
}

/// Asks one host until nothing runs there any more.
struct PollThread {
    shared: Weak<Shared>,
    host: Weak<dyn ProcessHost>,
    wake: Arc<Wake>,
}

impl PollThread {
    fn run(self) {
        let mut pauses = PAUSES.iter();
        let mut pause = PAUSES[0];
        loop {
            pause = pauses.next().copied().unwrap_or(pause);
            let is_awaited = match self.shared.upgrade() {
                None => return,
                Some(shared) => shared.lock().is_awaited(&self.host),
            };
            let wait = if is_awaited {
                pause.min(HURRIED)
            } else {
                pause
            };
            if self.wake.wait(wait) {
                self.wake.clear();
                pauses = PAUSES.iter();
            }
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            let Some(host) = self.host.upgrade() else {
                return;
            };
            shared.ask(&host);
            let mut state = shared.lock();
            if state.questions(&self.host).is_empty() {
                // Under the lock: a process that is started now starts another thread.
                state.pollers.retain(|poller| !is_same(&poller.host, &host));
                return;
            }
        }
    }
}
