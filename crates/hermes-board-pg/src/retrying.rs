//! Waiting for a server that went away.
//!
//! Only a beginning is waited for: nothing has been asked for yet, so asking again cannot do it twice.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pause between two tries to connect.
const PAUSE: Duration = Duration::from_millis(250);

/// Waits this long; `true` if there is nothing to wait for any more.
type Wait = dyn Fn(Duration) -> bool + Send + Sync;

/// How long a server that cannot be reached is waited for.
#[derive(Clone, Default)]
pub struct Retrying {
    limit: Duration,
    wait: Option<Arc<Wait>>,
}

impl fmt::Debug for Retrying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Retrying({:?})", self.limit)
    }
}

impl Retrying {
    /// Waits up to `limit`. `wait` waits for a while and tells whether somebody wants an end of it.
    pub fn new(limit: Duration, wait: impl Fn(Duration) -> bool + Send + Sync + 'static) -> Self {
        Self {
            limit,
            wait: Some(Arc::new(wait)),
        }
    }

    /// Does `attempt` until the server answers, the time is over, or nobody wants to wait.
    pub(crate) fn retry<T>(
        &self,
        mut attempt: impl FnMut() -> crate::Result<T>,
    ) -> crate::Result<T> {
        let mut deadline = None;
        loop {
            let error = match attempt() {
                Err(error) if error.is_passing() => error,
                done => return done,
            };
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + self.limit);
            let Some(wait) = self.wait.as_ref().filter(|_| Instant::now() < deadline) else {
                return Err(error);
            };
            tracing::debug!(%error, "waiting for the database server");
            if wait(PAUSE) {
                return Err(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::Error;

    fn away() -> Error {
        Error::Unreachable {
            place: "p".to_owned(),
            detail: "d".to_owned(),
        }
    }

    fn tries(retrying: &Retrying, error: impl Fn() -> Error, successful: u32) -> (u32, bool) {
        let tried = Cell::new(0);
        let done = retrying.retry(|| {
            tried.set(tried.get() + 1);
            if tried.get() == successful {
                Ok(())
            } else {
                Err(error())
            }
        });
        (tried.get(), done.is_ok())
    }

    #[test]
    fn a_server_is_waited_for_within_limits() {
        let long = Retrying::new(Duration::from_mins(1), |_| false);
        assert_eq!(tries(&long, away, 3), (3, true));
        // What is wrong with the request does not get better.
        assert_eq!(tries(&long, || Error::Nul, 3), (1, false));
        assert_eq!(tries(&Retrying::default(), away, 3), (1, false));
        let interrupted = Retrying::new(Duration::from_mins(1), |_| true);
        assert_eq!(tries(&interrupted, away, 3), (1, false));
        let short = Retrying::new(Duration::ZERO, |_| false);
        assert_eq!(tries(&short, away, 3), (1, false));
    }
}
