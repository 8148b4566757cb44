//! Containers on their way out.
//!
//! Each goes on a thread of its own; whoever ends the process waits for all of them together, and
//! what is not done by then is left to a detached call of the engine, so that a container that was
//! given up is gone in the end.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_proc::{ChildSpec, Group, Streams};

use super::engine::{Engine, refusal};
use super::host::DockerHost;

const STEP_LIMIT: Duration = Duration::from_secs(30);

/// The containers of this process that are going.
#[derive(Debug, Default)]
pub(crate) struct Teardown {
    pending: Mutex<Vec<Arc<Leaving>>>,
}

/// One container that is going.
#[derive(Debug)]
pub(crate) struct Leaving {
    id: String,
    gone: Mutex<bool>,
    changed: Condvar,
}

impl Leaving {
    /// Whether it is gone, waiting for it at most so long.
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        let (gone, _) = self
            .changed
            .wait_timeout_while(gone, limit, |gone| !*gone)
            .unwrap_or_else(PoisonError::into_inner);
        *gone
    }

    fn finished(&self) {
        *self.gone.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }
}

/// Begins to stop and remove a container, and returns at once.
pub(crate) fn begin(host: &Arc<DockerHost>, id: &str) -> Arc<Leaving> {
    let leaving = Arc::new(Leaving {
        id: id.to_owned(),
        gone: Mutex::new(false),
        changed: Condvar::new(),
    });
    host.teardown.lock().push(Arc::clone(&leaving));
    let (worker_host, worker) = (Arc::clone(host), Arc::clone(&leaving));
    let started = std::thread::Builder::new()
        .name("sandbox-teardown".to_owned())
        .spawn(move || {
            stop_and_remove(&worker_host.engine, &worker.id);
            worker_host.teardown.forget(&worker);
            worker.finished();
        });
    if let Err(error) = started {
        tracing::warn!(container = id, %error, "no thread to remove a container with");
        remove_detached(&host.engine, id);
        host.teardown.forget(&leaving);
        leaving.finished();
    }
    leaving
}

/// Both steps, the second whatever becomes of the first.
pub(crate) fn stop_and_remove(engine: &Engine, id: &str) -> bool {
    let stopped = step(engine, "stopping", &["stop", "-t", "10", id]);
    let removed = step(engine, "removing", &["rm", "-f", id]);
    tracing::debug!(container = id, stopped, removed, "container given up");
    removed
}

fn step(engine: &Engine, what: &str, args: &[&str]) -> bool {
    let failed = match engine.ask(args, STEP_LIMIT) {
        Ok(answer) if answer.is_success() => return true,
        Ok(answer) => refusal(&format!("{what} a container"), &answer),
        Err(error) => error,
    };
    let text = failed.to_string();
    let is_gone_already = text.contains("404") || text.to_ascii_lowercase().contains("no such");
    if is_gone_already || text.contains("not found") {
        tracing::info!("{text}");
    } else {
        tracing::warn!("{text}");
    }
    false
}

impl Teardown {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Leaving>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, gone: &Arc<Leaving>) {
        self.lock().retain(|one| !Arc::ptr_eq(one, gone));
    }

    /// Waits for all of them together. What is left then goes without us.
    pub(crate) fn finish(&self, engine: &Engine, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let pending: Vec<Arc<Leaving>> = self.lock().clone();
        let mut all = true;
        for leaving in pending {
            if !leaving.wait(deadline.saturating_duration_since(Instant::now())) {
                all = false;
                remove_detached(engine, &leaving.id);
            }
        }
        all
    }
}

/// Starts a removal that goes on when this process has ended.
fn remove_detached(engine: &Engine, id: &str) {
    let removal = ChildSpec {
        cwd: Some(PathBuf::from("/")),
        streams: Streams::Given {
            input: None,
            output: None,
        },
        group: Group::Session,
        kill_on_drop: false,
        ..ChildSpec::new(engine.program(), ["rm", "-f", id], engine.variables())
    };
    match removal.spawn() {
        Ok(_) => tracing::warn!(container = id, "a container goes away after us"),
        Err(error) => tracing::warn!(container = id, %error, "a container may be left"),
    }
}
