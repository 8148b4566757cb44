//! Lets go of a place that nobody has used for a while, in processes that live long.
//!
//! A sandbox that other processes share keeps running; only our hold on it goes. The next command
//! finds it again.

use std::sync::{Arc, Weak};
use std::time::Duration;

use hermes_proc::Wake;

use super::elsewhere::Elsewhere;

/// Longest time between two looks.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// Looks until it is dropped.
pub(crate) struct IdleWatch {
    stop: Arc<Wake>,
}

impl IdleWatch {
    /// Watches a place, if it has an idle time at all.
    pub(crate) fn over(place: &Arc<Elsewhere>) -> std::io::Result<Option<Self>> {
        let Some(lifetime) = place.idle_limit() else {
            return Ok(None);
        };
        let watch = Self {
            stop: Arc::new(Wake::new()?),
        };
        let (stop, place) = (Arc::clone(&watch.stop), Arc::downgrade(place));
        std::thread::Builder::new()
            .name("idle-sandbox".to_owned())
            .spawn(move || look(&stop, &place, lifetime))?;
        Ok(Some(watch))
    }
}

impl Drop for IdleWatch {
    fn drop(&mut self) {
        self.stop.raise();
    }
}

fn look(stop: &Wake, place: &Weak<Elsewhere>, lifetime: Duration) {
    let pause = (lifetime / 5).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
    while !stop.wait(pause) {
        let Some(place) = place.upgrade() else {
            return;
        };
        if place.is_idle(lifetime) {
            place.rest();
        }
    }
}
