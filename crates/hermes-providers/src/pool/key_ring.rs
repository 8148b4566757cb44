//! The keys of one route in a running process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use hermes_secret::SecretString;

use super::auth_file::AuthFile;
use super::credential::{CredentialEntry, CredentialStatus};
use super::strategy::{KeyCandidate, Strategy};
use super::token_exchange::TokenExchange;
use super::token_refresher::TokenRefresher;
use crate::error::ProviderFailure;

/// The keys of one route.
#[derive(Debug)]
pub(crate) struct KeyRing {
    /// The file with the records, and the name of the pool in it; `None` for a key given for this
    /// run only.
    stored: Option<(AuthFile, String)>,
    strategy: Strategy,
    /// Who renews the tokens of logins.
    refresher: Option<Arc<dyn TokenRefresher>>,
    /// What makes the tokens of requests out of keys, where these are not sent themselves.
    exchange: Option<Arc<dyn TokenExchange>>,
    state: Mutex<RingState>,
}

#[derive(Debug)]
struct RingState {
    slots: Vec<KeySlot>,
    last: Option<usize>,
}

#[derive(Debug)]
struct KeySlot {
    secret: SecretString,
    /// The record in `auth.json`.
    entry: CredentialEntry,
    /// The file of the record, if it is another one than that of the ring.
    owner: Option<AuthFile>,
    leases: usize,
}

/// A key in use, returned when dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    ring: Arc<KeyRing>,
    at: usize,
    pub(crate) secret: SecretString,
    pub(crate) label: String,
    /// Why the login has come to its end, if it has.
    pub(crate) ended: Option<String>,
}

impl KeyRing {
    /// A ring of these keys with their records, in order. Those at the end have their records in another
    /// file, where they stay.
    pub(crate) fn new(
        keys: Vec<(SecretString, CredentialEntry)>,
        inherited: Vec<(SecretString, CredentialEntry, AuthFile)>,
        strategy: Strategy,
        stored: Option<(AuthFile, String)>,
        refresher: Option<Arc<dyn TokenRefresher>>,
        exchange: Option<Arc<dyn TokenExchange>>,
    ) -> Arc<Self> {
        let own = keys.into_iter();
        let own = own.map(|(secret, entry)| (secret, entry, None));
        let others = inherited.into_iter();
        let others = others.map(|(secret, entry, owner)| (secret, entry, Some(owner)));
        let slots = own.chain(others).map(|(secret, entry, owner)| KeySlot {
            secret,
            entry,
            owner,
            leases: 0,
        });
        Arc::new(Self {
            stored,
            strategy,
            refresher,
            exchange,
            state: Mutex::new(RingState {
                slots: slots.collect(),
                last: None,
            }),
        })
    }

    /// Number of keys, usable or not.
    pub(crate) fn len(&self) -> usize {
        self.lock().slots.len()
    }

    /// The next usable key. A single key is returned even if exhausted: there is no alternative.
    /// The token of a login that is about to expire is renewed first.
    pub(crate) fn lease(self: &Arc<Self>) -> Option<Lease> {
        let now = SystemTime::now();
        let mut lease = self.next(now)?;
        let is_expiring = {
            let state = self.lock();
            let slot = state.slots.get(lease.at);
            slot.is_some_and(|slot| slot.entry.is_expiring(now))
        };
        if is_expiring {
            lease.renew_login();
        }
        lease.exchange();
        Some(lease)
    }

    fn next(self: &Arc<Self>, now: SystemTime) -> Option<Lease> {
        let mut state = self.lock();
        let single = state.slots.len() == 1;
        let candidates: Vec<KeyCandidate> = state
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| single || slot.entry.status(now) == CredentialStatus::Usable)
            .map(|(at, slot)| KeyCandidate {
                at,
                leases: slot.leases,
                uses: slot.entry.request_count(),
            })
            .collect();
        let at = self.strategy.choose(&candidates, state.last)?;
        state.last = Some(at);
        let slot = state.slots.get_mut(at)?;
        slot.leases += 1;
        slot.entry.count_request();
        Some(Lease {
            ring: Arc::clone(self),
            at,
            secret: slot.secret.clone(),
            label: slot.entry.label().to_owned(),
            ended: None,
        })
    }

    /// All secrets, for masking.
    pub(crate) fn secrets(&self) -> Vec<SecretString> {
        let state = self.lock();
        state.slots.iter().map(|slot| slot.secret.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, RingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// Gets another token after a server has not taken this one. Gives whether there is one.
    pub(crate) fn renew(&mut self) -> bool {
        let key = self.slot().map(|(key, _, _)| key);
        let forgotten = match (&self.ring.exchange, key) {
            (Some(exchange), Some(key)) => exchange.forget(&key),
            _ => false,
        };
        let renewed = self.renew_login() || forgotten;
        if renewed {
            self.exchange();
        }
        renewed
    }

    /// Puts the token for the key in its place, where keys are not sent themselves.
    fn exchange(&mut self) {
        if let Some(exchange) = &self.ring.exchange
            && let Some((key, entry, _)) = self.slot()
        {
            self.secret = exchange.token(&key, &entry);
        }
    }

    /// The key with its record, and the file of that.
    fn slot(&self) -> Option<(SecretString, CredentialEntry, Option<AuthFile>)> {
        let state = self.ring.lock();
        let slot = state.slots.get(self.at)?;
        Some((slot.secret.clone(), slot.entry.clone(), slot.owner.clone()))
    }

    /// Renews the token of a login. Gives whether there is a new one.
    fn renew_login(&mut self) -> bool {
        let (Some(refresher), Some((file, provider))) = (&self.ring.refresher, &self.ring.stored)
        else {
            return false;
        };
        let found = self.slot();
        let found = found.filter(|(_, entry, _)| entry.auth_type() == "oauth");
        let Some((_, entry, owner)) = found else {
            return false;
        };
        let file = owner.as_ref().unwrap_or(file);
        let renewed = match refresher.refresh_elsewhere(&entry) {
            Some(renewed) => renewed.map(Some),
            None => file.renew_login(provider, &entry, |entry, token| {
                refresher.refresh(provider, entry, token)
            }),
        };
        let secret = match renewed {
            Ok(Some(renewed)) => renewed.secret().map(|secret| (renewed, secret)),
            Ok(None) => None,
            Err(error) => {
                let reason = error.reason;
                tracing::warn!("could not renew the login at {provider}: {reason}");
                if error.is_final {
                    self.ended = Some(reason);
                }
                None
            }
        };
        let Some((renewed, secret)) = secret else {
            return false;
        };
        if let Some(slot) = self.ring.lock().slots.get_mut(self.at) {
            slot.entry = renewed;
            slot.secret = secret.clone();
        }
        self.secret = secret;
        true
    }

    /// Marks the key as exhausted, for other processes too. Returns whether another key is usable.
    pub(crate) fn exhaust(&self, failure: &ProviderFailure) -> bool {
        let now = SystemTime::now();
        let mut state = self.ring.lock();
        let Some(slot) = state.slots.get_mut(self.at) else {
            return false;
        };
        slot.entry.exhaust(failure, now);
        let marked = slot.entry.clone();
        let owner = slot.owner.clone();
        let usable = |slot: &KeySlot| slot.entry.status(now) == CredentialStatus::Usable;
        let another = state.slots.iter().any(usable);
        drop(state);
        self.store(marked, owner);
        another
    }

    /// Stores the state of the key. A failure is only logged: a full disk must not end a turn.
    fn store(&self, marked: CredentialEntry, owner: Option<AuthFile>) {
        let Some((file, provider)) = &self.ring.stored else {
            return;
        };
        let file = owner.as_ref().unwrap_or(file);
        let result = file.change(provider, |entries| {
            let same = entries.iter_mut().find(|entry| entry.id() == marked.id());
            match same {
                Some(entry) => *entry = marked,
                None => entries.push(marked),
            }
        });
        if let Err(error) = result {
            tracing::warn!("could not store the state of a key: {error}");
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
