//! Background processes that are heard of by asking their host.
//!
//! A host is asked for all its processes at once: every two seconds, more often after a start and
//! while someone waits for an end, and whenever a caller wants to know now. The thread that asks ends
//! with the last process of its host.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hermes_proc::Wake;

use super::host::{
    PolledProcess, Poller, ProcessHost, ProcessHostError, StatusAnswer, StatusQuestion,
};
use super::notice::EndReason;
use super::process::{Connection, Process};
use super::registry::{Processes, Shared, State};
use crate::lock::lock;

/// Pauses after a start, and then the last one for ever.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(2),
];
/// The pause while someone waits for an end.
const HURRIED: Duration = Duration::from_millis(200);

impl Processes {
    /// Makes sure that the host is asked for news, and soon.
    pub(super) fn listen_to(&self, host: &Arc<dyn ProcessHost>) -> std::io::Result<()> {
        let mut state = self.shared.lock();
        if let Some(poller) = state.poller(host) {
            poller.wake.raise();
            return Ok(());
        }
        let poller = Poller {
            host: Arc::clone(host),
            wake: Arc::new(Wake::new()?),
        };
        state.pollers.push(poller.clone());
        let shared = Arc::downgrade(&self.shared);
        std::thread::Builder::new()
            .name("remote-processes".to_owned())
            .spawn(move || poll(&shared, &poller))
            .inspect_err(|_| drop(state.pollers.pop()))?;
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
        let pollers = self.shared.lock().pollers.clone();
        for poller in pollers {
            self.shared.ask(&poller.host);
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
        let mut pollers = self.pollers.iter();
        pollers.find(|poller| Arc::ptr_eq(&poller.host, host))
    }

    /// The processes of a host that run.
    fn polled(
        &self,
        host: &Arc<dyn ProcessHost>,
    ) -> impl Iterator<Item = (&Process, &PolledProcess)> {
        let processes = self.processes.values();
        processes.filter_map(move |process| match &process.connection {
            Connection::Polled(polled) if Arc::ptr_eq(&polled.host, host) => {
                Some((process, polled))
            }
            _ => None,
        })
    }

    /// Takes an answer about one process; says whether it has ended.
    fn hear_from(&mut self, id: &str, answer: &StatusAnswer) -> bool {
        let Some(process) = self.processes.get_mut(id) else {
            return false;
        };
        let is_being_killed = process.kill_source.is_some();
        let Connection::Polled(polled) = &mut process.connection else {
            return false;
        };
        polled.offset = polled.offset.max(answer.size);
        // The end of one that is missing may be about to be written down: it is asked about once
        // more.
        let is_lost = answer.exit_code.is_none()
            && !answer.is_alive
            && std::mem::replace(&mut polled.is_missing, true);
        self.output(id, &answer.output, Instant::now());
        match answer.exit_code {
            // The kill reports the end.
            _ if is_being_killed => return false,
            Some(code) => self.finish(id, Some(code)),
            None if is_lost => self.finish_as(id, Some(-1), EndReason::Lost),
            None => return false,
        }
        true
    }
}

impl Shared {
    /// Asks a host for all its processes, one caller at a time.
    fn ask(&self, host: &Arc<dyn ProcessHost>) {
        let _turn = lock(host.asking());
        let question = |(process, polled): (&Process, &PolledProcess)| StatusQuestion {
            id: process.id.clone(),
            pid: polled.pid,
            offset: polled.offset,
        };
        let questions: Vec<_> = self.lock().polled(host).map(question).collect();
        if questions.is_empty() {
            return;
        }
        match Arc::clone(host).ask(&questions) {
            Ok(answers) => self.update(|state| {
                let mut has_ended = false;
                for (id, answer) in &answers {
                    has_ended |= state.hear_from(id, answer);
                }
                if has_ended {
                    self.save_best_effort(state);
                }
            }),
            Err(ProcessHostError::Gone(error)) => {
                tracing::warn!(%error, "lost its background processes");
                self.update(|state| {
                    for StatusQuestion { id, .. } in &questions {
                        state.finish_as(id, Some(-1), EndReason::Lost);
                    }
                    self.save_best_effort(state);
                });
            }
            Err(ProcessHostError::Unanswered(error)) => {
                tracing::debug!(%error, "could not read the state of background processes");
            }
        }
    }
}

/// Asks one host until nothing runs there any more, or the registry is gone.
fn poll(shared: &Weak<Shared>, poller: &Poller) {
    let mut pauses = PAUSES.iter();
    let mut pause = PAUSES[0];
    loop {
        pause = pauses.next().copied().unwrap_or(pause);
        let is_awaited = match shared.upgrade() {
            None => return,
            Some(shared) => shared
                .lock()
                .polled(&poller.host)
                .any(|(process, _)| process.waiters > 0),
        };
        let wait = if is_awaited {
            pause.min(HURRIED)
        } else {
            pause
        };
        if poller.wake.wait(wait) {
            poller.wake.clear();
            pauses = PAUSES.iter();
        }
        let Some(shared) = shared.upgrade() else {
            return;
        };
        shared.ask(&poller.host);
        let mut state = shared.lock();
        if state.polled(&poller.host).next().is_none() {
            // Under the lock: a process that is started now starts another thread.
            let is_other = |other: &Poller| !Arc::ptr_eq(&other.host, &poller.host);
            state.pollers.retain(is_other);
            return;
        }
    }
}
