//! The runs on their way. Those that are over are read from disk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::run::Run;

/// The runs of a server.
#[derive(Default)]
pub(crate) struct RunRegistry {
    runs: Mutex<HashMap<String, Arc<Run>>>,
}

impl RunRegistry {
    fn runs(&self) -> MutexGuard<'_, HashMap<String, Arc<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, run: &Arc<Run>) {
        self.runs().insert(run.id.clone(), Arc::clone(run));
    }

    pub(crate) fn remove(&self, id: &str) {
        self.runs().remove(id);
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Run>> {
        self.runs().get(id).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.runs().len()
    }
}
