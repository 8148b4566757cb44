//! Releases a remote backend that has been idle for a while, in long-lived processes.
//!
//! A sandbox that other processes share keeps running; only this process lets go of it. The next
//! command attaches again.

use std::sync::{Arc, Weak};
use std::time::Duration;

use hermes_proc::Wake;

use super::remote::RemoteLease;

/// Longest time between two checks.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// Watches a backend until this value is dropped.
pub struct IdleWatch {
    stop: Arc<Wake>,
}

impl IdleWatch {
    /// Watches a backend, if it has an idle limit.
    pub(crate) fn start(backend: &Arc<RemoteLease>) -> std::io::Result<Option<Self>> {
        let Some(lifetime) = backend.idle_limit() else {
            return Ok(None);
        };
        let watch = Self {
            stop: Arc::new(Wake::new()?),
        };
        let (stop, backend) = (Arc::clone(&watch.stop), Arc::downgrade(backend));
        std::thread::Builder::new()
            .name("idle-sandbox".to_owned())
            .spawn(move || release_when_idle(&stop, &backend, lifetime))?;
        Ok(Some(watch))
    }
}

impl Drop for IdleWatch {
    fn drop(&mut self) {
        self.stop.raise();
    }
}

fn release_when_idle(stop: &Wake, backend: &Weak<RemoteLease>, lifetime: Duration) {
    let pause = (lifetime / 5).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
    while !stop.wait(pause) {
        let Some(backend) = backend.upgrade() else {
            return;
        };
        if backend.is_idle(lifetime) {
            backend.release_idle();
        }
    }
}
