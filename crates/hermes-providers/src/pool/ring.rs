//! The keys of one route while a process uses them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use hermes_secret::SecretString;

use super::auth_file::AuthFile;
use super::entry::{Entry, EntryStatus};
use super::strategy::{Candidate, Strategy};
use crate::error::Failure;

/// A key and where it comes from.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    /// The key; `None` for a server that wants none.
    pub(crate) secret: Option<SecretString>,
    /// What `auth.json` knows about it.
    pub(crate) entry: Entry,
}

/// The keys of one route.
#[derive(Debug)]
pub(crate) struct KeyRing {
    /// Under which name `auth.json` keeps them, and the file; `None` for a key that was given for
    /// this run only.
    kept: Option<(AuthFile, String)>,
    strategy: Strategy,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    slots: Vec<Slot>,
    last: Option<usize>,
}

#[derive(Debug)]
struct Slot {
    key: Key,
    leases: usize,
}

/// A key in use. Given back when dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    ring: Arc<KeyRing>,
    at: usize,
    /// The key; `None` for a server that wants none.
    pub(crate) secret: Option<SecretString>,
    /// As the user calls it.
    pub(crate) label: String,
}

impl KeyRing {
    /// A ring of these keys, in order.
    pub(crate) fn new(
        keys: Vec<Key>,
        strategy: Strategy,
        kept: Option<(AuthFile, String)>,
    ) -> Arc<Self> {
        let slots = keys.into_iter().map(|key| Slot { key, leases: 0 });
        Arc::new(Self {
            kept,
            strategy,
            state: Mutex::new(State {
                slots: slots.collect(),
                last: None,
            }),
        })
    }

    /// How many keys there are, usable or not.
    pub(crate) fn len(&self) -> usize {
        self.lock().slots.len()
    }

    /// The next usable key. With a single key it is given whatever its state: there is no better.
    pub(crate) fn lease(self: &Arc<Self>) -> Option<Lease> {
        let now = SystemTime::now();
        let mut state = self.lock();
        let single = state.slots.len() == 1;
        let candidates: Vec<Candidate> = state
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| single || slot.key.entry.status(now) == EntryStatus::Usable)
            .map(|(at, slot)| Candidate {
                at,
                leases: slot.leases,
                uses: slot.key.entry.request_count(),
            })
            .collect();
        let at = self.strategy.choose(&candidates, state.last)?;
        state.last = Some(at);
        let slot = state.slots.get_mut(at)?;
        slot.leases += 1;
        slot.key.entry.count_request();
        Some(Lease {
            ring: Arc::clone(self),
            at,
            secret: slot.key.secret.clone(),
            label: slot.key.entry.label().to_owned(),
        })
    }

    /// All secrets, for masking.
    pub(crate) fn secrets(&self) -> Vec<SecretString> {
        let state = self.lock();
        let secrets = state
            .slots
            .iter()
            .filter_map(|slot| slot.key.secret.clone());
        secrets.collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// Notes that the key does not work for now, here and for other processes. Says whether another
    /// key can be tried.
    pub(crate) fn exhaust(&self, failure: &Failure) -> bool {
        let now = SystemTime::now();
        let mut state = self.ring.lock();
        let Some(slot) = state.slots.get_mut(self.at) else {
            return false;
        };
        slot.key.entry.exhaust(failure, now);
        let marked = slot.key.entry.clone();
        let usable = |slot: &Slot| slot.key.entry.status(now) == EntryStatus::Usable;
        let another = state.slots.iter().any(usable);
        drop(state);
        self.keep(marked);
        another
    }

    /// Writes the state of the key down. A disk that is full must not end a turn.
    fn keep(&self, marked: Entry) {
        let Some((file, provider)) = &self.ring.kept else {
            return;
        };
        let result = file.change(provider, |entries| {
            let same = entries.iter_mut().find(|entry| entry.id() == marked.id());
            match same {
                Some(entry) => *entry = marked,
                None => entries.push(marked),
            }
        });
        if let Err(error) = result {
            tracing::warn!("the state of a key was not kept: {error}");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(slot) = self.ring.lock().slots.get_mut(self.at) {
            slot.leases = slot.leases.saturating_sub(1);
        }
    }
}
