//! Remembered approvals: those of a session in memory, permanent ones in `config.yaml`.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hermes_config::Sources;
use hermes_config::settings::{ConfigError, append_to_list};

use crate::command::keys;

/// Keys approved in one session.
#[derive(Debug, Default)]
pub struct SessionApprovals {
    keys: Mutex<BTreeSet<String>>,
}

impl SessionApprovals {
    /// Approves keys until the session ends.
    pub fn approve(&self, keys: &[String]) {
        self.lock().extend(keys.iter().cloned());
    }

    /// Whether a key is approved.
    pub fn covers(&self, key: &str) -> bool {
        self.lock().iter().any(|entry| keys::covers(entry, key))
    }

    /// Forgets everything, as `/new` does.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        // A set of texts is whole whenever the lock is free.
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Saves permanent approvals, and knows those made since the settings were read.
#[derive(Debug)]
pub struct PermanentApprovals {
    sources: Sources,
    added: SessionApprovals,
}

impl PermanentApprovals {
    /// Approvals in the `config.yaml` of these sources.
    pub fn new(sources: Sources) -> Self {
        Self {
            sources,
            added: SessionApprovals::default(),
        }
    }

    /// Adds keys to `command_allowlist`. They count from now on even if the file cannot be written.
    pub fn remember(&self, keys: &[String]) -> Result<(), ConfigError> {
        self.added.approve(keys);
        keys.iter()
            .try_for_each(|key| append_to_list(&self.sources, "command_allowlist", key))
    }

    /// Whether a key was approved since the settings were read.
    pub fn covers(&self, key: &str) -> bool {
        self.added.covers(key)
    }
}
