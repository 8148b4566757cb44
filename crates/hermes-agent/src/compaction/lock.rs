//! The compaction lock of a conversation: taken over from dead processes, and refreshed while a
//! summary is made.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use hermes_proc::{ProcessIdentity, Wake, identity_of, is_same_live_process};
use hermes_providers::{ErrorClass, ModelRequest, Provider, ProviderError};
use hermes_session::{CompactionLock, Error as StoreError, LockAttempt, SessionStore};

use crate::Result;
use crate::agent::Agent;
use crate::auxiliary::{AuxiliaryAnswer, ask_auxiliary};
use crate::observer::{TurnEvent, TurnObserver};

/// How long the lock is valid without a refresh.
const LEASE: Duration = Duration::from_mins(1);
/// How often the lock is refreshed while a summary is made.
const REFRESH_INTERVAL: Duration = Duration::from_secs(15);
/// How often a waiting process checks the lock.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How long a live holder is waited for.
const MAX_WAIT: Duration = Duration::from_mins(10);
const HOLDER_PREFIX: &str = "hermes";

impl Agent {
    /// Takes the compaction lock: from a dead holder at once, from a live one when it is done. `None`
    /// after a timeout or an interrupt.
    pub(super) fn lock_compaction(
        &mut self,
        observer: &mut dyn TurnObserver,
    ) -> Result<Option<CompactionLock>> {
        let own = own_holder();
        let deadline = Instant::now() + MAX_WAIT;
        let mut was_announced = false;
        let mut dead: Option<String> = None;
        loop {
            let store = &mut self.store;
            let attempt = store.try_lock_compaction(&self.session, &own, dead.as_deref(), LEASE)?;
            let holder = match attempt {
                LockAttempt::Taken(lock) => return Ok(Some(lock)),
                LockAttempt::Held { holder, .. } => holder,
            };
            if is_dead(&holder) {
                tracing::info!(holder, "the process that was compacting is dead");
                dead = Some(holder);
                continue;
            }
            if !was_announced {
                was_announced = true;
                observer.on(TurnEvent::Notice(
                    "Another process is compacting this conversation; waiting for it.".to_owned(),
                ));
            }
            if Instant::now() >= deadline || self.context.interrupt.wait(POLL_INTERVAL) {
                return Ok(None);
            }
        }
    }
}

fn own_holder() -> String {
    let pid = std::process::id();
    match identity_of(pid) {
        Some(own) => format!("{HOLDER_PREFIX}:{pid}:{}:{}", own.start_time, own.boot_id),
        None => format!("{HOLDER_PREFIX}:{pid}"),
    }
}

/// Whether a holder is a dead process. Unknown for holders that do not identify their process.
fn is_dead(holder: &str) -> bool {
    let mut parts = holder.splitn(4, ':');
    let is_ours = parts.next() == Some(HOLDER_PREFIX);
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

/// Asks for a summary and refreshes the lock meanwhile.
pub(super) fn ask_holding(
    provider: &dyn Provider,
    request: &ModelRequest,
    interrupt: &Wake,
    (store, lock): (&mut SessionStore, &CompactionLock),
) -> std::result::Result<AuxiliaryAnswer, ProviderError> {
    std::thread::scope(|scope| {
        let (done, answer) = mpsc::channel();
        let asking = std::thread::Builder::new()
            .name("summary".to_owned())
            .spawn_scoped(scope, move || {
                // Sending fails only if the receiver is gone.
                drop(done.send(ask_auxiliary(provider, request, interrupt)));
            });
        if let Err(error) = asking {
            let message = format!("could not start a thread: {error}");
            return Err(ProviderError::new(ErrorClass::Unknown, message));
        }
        loop {
            match answer.recv_timeout(REFRESH_INTERVAL) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) => refresh(store, lock),
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "the request ended without an answer";
                    return Err(ProviderError::new(ErrorClass::Unknown, message));
                }
            }
        }
    })
}

/// Refreshes the lock. A failure is checked when the summary is done.
fn refresh(store: &mut SessionStore, lock: &CompactionLock) {
    if let Err(error) = store.refresh_compaction_lock(lock, LEASE) {
        tracing::warn!(%error, "could not refresh the compaction lock");
    }
}

/// Whether this process still has the lock, or can take it again.
pub(super) fn still_held(store: &mut SessionStore, lock: &CompactionLock) -> Result<bool> {
    match store.refresh_compaction_lock(lock, LEASE) {
        Ok(()) => Ok(true),
        Err(StoreError::CompactionLost { .. }) => {
            let again = store.try_lock_compaction(lock.session(), &own_holder(), None, LEASE)?;
            Ok(matches!(again, LockAttempt::Taken(_)))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_dead_process_is_dead() {
        let own = own_holder();
        assert!(!is_dead(&own));
        let (start, boot) = own.rsplit_once(':').unwrap();
        // Another process under our number, and ours in another boot.
        assert!(is_dead(&format!("{start}1:{boot}")));
        assert!(is_dead(&format!("{start}:another-boot")));
        for unknown in [
            "hermes:1",
            "theirs",
            "theirs:1:2:3",
            "",
            "hermes:x:1:b",
            "hermes:1:2:",
        ] {
            assert!(!is_dead(unknown), "{unknown}");
        }
    }
}
