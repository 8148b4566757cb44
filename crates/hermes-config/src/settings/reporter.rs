//! Telling the user what is wrong with a setting when something reads it, once per process.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::problem::Problem;

/// Where problems go. Clones share what has been told, so settings may be read anew.
#[derive(Clone)]
pub struct ProblemReporter {
    tell: Arc<dyn Fn(&Problem) + Send + Sync>,
    told: Arc<Mutex<HashSet<String>>>,
}

impl std::fmt::Debug for ProblemReporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProblemReporter")
    }
}

impl ProblemReporter {
    /// Problems go to this function.
    pub fn new(tell: impl Fn(&Problem) + Send + Sync + 'static) -> Self {
        Self {
            tell: Arc::new(tell),
            told: Arc::default(),
        }
    }

    /// Tells of a problem, unless that has been done.
    pub fn tell(&self, problem: &Problem) {
        if self.mark(problem) {
            (self.tell)(problem);
        }
    }

    /// Whether a problem is new. From now on it is not: whoever asks lists it themselves.
    pub fn mark(&self, problem: &Problem) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(problem.to_string())
    }
}
