//! The right to shorten a conversation: who has it, whether that process still lives, and how it is
//! kept while a summary takes its time.
//!
//! A process may die at any moment and must not leave a conversation behind that nobody can shorten.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use hermes_proc::{ProcessIdentity, Wake, identity_of, is_same_live_process};
use hermes_providers::{ErrorClass, Provider, ProviderError, Request};
use hermes_session::{CompactionLock, Error as StoreError, LockAttempt, SessionStore};

use crate::agent::Agent;
use crate::error::Result;
use crate::observer::{Event, Observer};
use crate::side::{SideAnswer, ask_aside};

/// How long the right lasts without being prolonged.
const LEASE: Duration = Duration::from_mins(1);
/// How often it is prolonged while a summary is made.
const PROLONG: Duration = Duration::from_secs(15);
/// How often somebody who waits looks whether the other one is done.
const LOOK: Duration = Duration::from_millis(250);
/// For how long a process that lives is waited for.
const PATIENCE: Duration = Duration::from_mins(10);
/// What our holders begin with.
const OURS: &str = "hermes";

impl Agent {
    /// Takes the right to shorten the conversation: from a process that is gone at once, from one
    /// that lives when it is done. `None` if somebody does not want to wait for that.
    pub(super) fn lock_compaction(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<Option<CompactionLock>> {
        let own = own_holder();
        let deadline = Instant::now() + PATIENCE;
        let mut was_told = false;
        loop {
            let attempt = self.store.try_lock_compaction(&self.session, &own, LEASE)?;
            let holder = match attempt {
                LockAttempt::Taken(lock) => return Ok(Some(lock)),
                LockAttempt::Held { holder, .. } => holder,
            };
            if is_gone(&holder) {
                tracing::info!(holder, "the process that was compacting is gone");
                let session = &self.session;
                let store = &mut self.store;
                if let Some(lock) =
                    store.take_over_compaction_lock(session, &holder, &own, LEASE)?
                {
                    return Ok(Some(lock));
                }
                continue;
            }
            if !was_told {
                was_told = true;
                observer.on(Event::Notice(
                    "Another process is shortening this conversation; waiting for it.".to_owned(),
                ));
            }
            if Instant::now() >= deadline || self.context.interrupt.wait(LOOK) {
                return Ok(None);
            }
        }
    }
}

/// This process, as holders of the right are named.
fn own_holder() -> String {
    let pid = std::process::id();
    match identity_of(pid) {
        Some(own) => format!("{OURS}:{pid}:{}:{}", own.start_time, own.boot_id),
        None => format!("{OURS}:{pid}"),
    }
}

/// Whether a holder is a process that has ended. Of holders that do not say which process they are,
/// nobody knows.
fn is_gone(holder: &str) -> bool {
    let mut parts = holder.splitn(4, ':');
    let is_ours = parts.next() == Some(OURS);
    let pid = parts.next().and_then(|pid| pid.parse().ok());
    let start_time = parts.next().and_then(|time| time.parse().ok());
    let boot_id = parts.next().filter(|boot| !boot.is_empty());
    match (is_ours, pid, start_time, boot_id) {
        (true, Some(pid), Some(start_time), Some(boot_id)) => {
            !is_same_live_process(&ProcessIdentity {
                pid,
                start_time,
                boot_id: boot_id.to_owned(),
            })
        }
        _ => false,
    }
}

/// Asks for a summary and keeps the right as long as that takes.
pub(super) fn ask_holding(
    provider: &dyn Provider,
    request: &Request,
    interrupt: &Wake,
    (store, lock): (&mut SessionStore, &CompactionLock),
) -> std::result::Result<SideAnswer, ProviderError> {
    std::thread::scope(|scope| {
        let (done, answer) = mpsc::channel();
        let asking = std::thread::Builder::new()
            .name("summary".to_owned())
            .spawn_scoped(scope, move || {
                // Nobody listens any more only if this thread is being ended, too.
                drop(done.send(ask_aside(provider, request, interrupt)));
            });
        if let Err(error) = asking {
            let message = format!("no thread could be started: {error}");
            return Err(ProviderError::new(ErrorClass::Unknown, message));
        }
        loop {
            match answer.recv_timeout(PROLONG) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) => prolong(store, lock),
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "the request ended without an answer";
                    return Err(ProviderError::new(ErrorClass::Unknown, message));
                }
            }
        }
    })
}

/// Prolongs the right. What cannot be prolonged now is looked at when the summary is there.
fn prolong(store: &mut SessionStore, lock: &CompactionLock) {
    if let Err(error) = store.refresh_compaction_lock(lock, LEASE) {
        tracing::warn!(%error, "the right to compact was not prolonged");
    }
}

/// Whether the right is ours, or nobody's and therefore ours again.
pub(super) fn still_held(store: &mut SessionStore, lock: &CompactionLock) -> Result<bool> {
    match store.refresh_compaction_lock(lock, LEASE) {
        Ok(()) => Ok(true),
        Err(StoreError::CompactionLost { .. }) => {
            let again = store.try_lock_compaction(lock.session(), &own_holder(), LEASE)?;
            Ok(matches!(again, LockAttempt::Taken(_)))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_is_known_to_have_ended_is_gone() {
        let own = own_holder();
        assert!(!is_gone(&own));
        let (start, boot) = own.rsplit_once(':').unwrap();
        // Another process under our number, and ours in another boot.
        assert!(is_gone(&format!("{start}1:{boot}")));
        assert!(is_gone(&format!("{start}:another-boot")));
        for unknown in [
            "hermes:1",
            "theirs",
            "theirs:1:2:3",
            "",
            "hermes:x:1:b",
            "hermes:1:2:",
        ] {
            assert!(!is_gone(unknown), "{unknown}");
        }
    }
}
