//! The runs that can be asked about.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::run::Run;
use crate::http::ApiError;

/// How long a run can be asked about after its end.
const KEPT: Duration = Duration::from_secs(3_600);
/// Runs at most; the oldest finished ones go first.
const MOST: usize = 200;

/// The runs of a server.
#[derive(Default)]
pub(crate) struct RunRegistry {
    runs: Mutex<HashMap<String, Arc<Run>>>,
}

impl RunRegistry {
    fn runs(&self) -> MutexGuard<'_, HashMap<String, Arc<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, run: &Arc<Run>) {
        self.sweep();
        let mut runs = self.runs();
        runs.insert(run.id.clone(), Arc::clone(run));
        while runs.len() > MOST {
            let finished = runs
                .iter()
                .filter_map(|(id, run)| Some((run.finished()?, id)));
            let Some(oldest) = finished.min().map(|(_, id)| id.clone()) else {
                break;
            };
            runs.remove(&oldest);
        }
    }

    pub(super) fn remove(&self, id: &str) {
        self.runs().remove(id);
    }

    pub(super) fn get(&self, id: &str) -> Result<Arc<Run>, ApiError> {
        let found = self.runs().get(id).cloned();
        found.ok_or_else(|| {
            let shown = hermes_text::shown(id, 80);
            ApiError::not_found(format!("there is no run {shown}")).code("run_not_found")
        })
    }

    /// Forgets runs that ended long ago.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        self.runs().retain(|_, run| {
            let finished = run.finished();
            finished.is_none_or(|at| now.duration_since(at) < KEPT)
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.runs().len()
    }
}
