//! What stands in the way of a worker.

/// What stands in the way of a worker, found by looking at the settings of its profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    pub problem: String,
    pub hint: Option<String>,
    /// Whether no worker is started; otherwise the worker has to deal with it first.
    pub holds: bool,
}
