//! Containers on their way out.
//!
//! Each goes on a thread of its own; whoever ends the process waits for all of them together, and
//! what is not done by then is left to a detached call of the engine, so that a container that was
//! given up is gone in the end.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_proc::{ChildSpec, Group, Streams};

use super::engine::Engine;

const STEP_LIMIT: Duration = Duration::from_secs(30);

/// The containers of this process that are going.
#[derive(Debug)]
pub(crate) struct Teardown {
    engine: Arc<Engine>,
    /// Their ids.
    pending: Mutex<Vec<String>>,
    changed: Condvar,
}

impl Teardown {
    pub(crate) fn new(engine: Arc<Engine>) -> Arc<Self> {
        Arc::new(Self {
            engine,
            pending: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Begins to stop and remove a container, and returns at once.
    pub(crate) fn begin(self: &Arc<Self>, id: &str) {
        self.lock().push(id.to_owned());
        let (worker, container) = (Arc::clone(self), id.to_owned());
        let started = std::thread::Builder::new()
            .name("sandbox-teardown".to_owned())
            .spawn(move || worker.stop_and_remove(&container));
        if let Err(error) = started {
            tracing::warn!(container = id, %error, "could not start a thread to remove a \
                container");
            self.remove_detached(id);
            self.forget(id);
        }
    }

    /// Waits for all of them together. What is left then goes without us.
    pub(crate) fn finish(&self, limit: Duration) -> bool {
        let (pending, _) = self
            .changed
            .wait_timeout_while(self.lock(), limit, |pending| !pending.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        for id in pending.iter() {
            self.remove_detached(id);
        }
        pending.is_empty()
    }

    /// Both steps, the second whatever becomes of the first.
    fn stop_and_remove(&self, id: &str) {
        let stopped = self.step("stopping a container", &["stop", "-t", "10", id]);
        let removed = self.step("removing a container", &["rm", "-f", id]);
        tracing::debug!(container = id, stopped, removed, "container given up");
        self.forget(id);
    }

    fn step(&self, what: &str, args: &[&str]) -> bool {
        let Err(error) = self.engine.demand(what, args, STEP_LIMIT) else {
            return true;
        };
        let text = error.to_string();
        let is_gone_already = text.contains("404") || text.to_ascii_lowercase().contains("no such");
        if is_gone_already || text.contains("not found") {
            tracing::info!("{text}");
        } else {
            tracing::warn!("{text}");
        }
        false
    }

    /// Starts a removal that goes on when this process has ended.
    fn remove_detached(&self, id: &str) {
        let removal = ChildSpec {
            streams: Streams::Given {
                input: None,
                output: None,
            },
            group: Group::Session,
            kill_on_drop: false,
            ..self.engine.command(&["rm", "-f", id])
        };
        match removal.spawn() {
            Ok(_) => tracing::warn!(
                container = id,
                "a container is removed after this process ends"
            ),
            Err(error) => tracing::warn!(container = id, %error, "a container may be left behind"),
        }
    }

    fn forget(&self, id: &str) {
        let mut pending = self.lock();
        if let Some(at) = pending.iter().position(|one| one == id) {
            pending.swap_remove(at);
        }
        drop(pending);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
