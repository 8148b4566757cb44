//! Hosts that are asked about their background processes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_proc::{KillOutcome, Wake};

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

pub(crate) enum ProcessHostError {
    /// The host is gone, and its processes with it.
    Gone(String),
    /// It may answer later.
    Unanswered(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatusQuestion {
    pub(crate) id: String,
    pub(crate) pid: u32,
    /// How much of its output is known.
    pub(crate) offset: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StatusAnswer {
    pub(crate) is_alive: bool,
    pub(crate) exit_code: Option<i32>,
    /// Size of its output so far.
    pub(crate) size: u64,
    /// The new part of its output.
    pub(crate) output: Vec<u8>,
}

/// A process that its host is asked about.
pub(crate) struct PolledProcess {
    pub(crate) pid: u32,
    /// By what its processes are known to a kill.
    pub(crate) seeds: String,
    /// How much of its output has been fetched.
    pub(super) offset: u64,
    /// Whether it was missing at the last answer, without a record of its end.
    pub(super) is_missing: bool,
    pub(super) host: Arc<dyn ProcessHost>,
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
}

impl Drop for PolledProcess {
    fn drop(&mut self) {
        self.host.forget();
    }
}

/// A thread that asks one host.
#[derive(Clone)]
pub(super) struct Poller {
    pub(super) host: Arc<dyn ProcessHost>,
    /// Raised to ask at once.
    pub(super) wake: Arc<Wake>,
}
