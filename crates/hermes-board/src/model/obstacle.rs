//! What stands in the way of a worker.

use std::sync::Arc;

/// What stands in the way of a worker, found by looking at the settings of its profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Shared, as the other text: thousands of cards may have the same obstacle.
    pub problem: Arc<str>,
    pub hint: Option<Arc<str>>,
    /// Whether no worker is started; otherwise the worker has to deal with it first.
    pub holds: bool,
}
