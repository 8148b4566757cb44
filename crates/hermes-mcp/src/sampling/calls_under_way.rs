//! Calls of one server that are under way, and whose they are: a server may ask the model while it
//! works for somebody, on that one's account.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct CallsUnderWay {
    calls: Mutex<Vec<(u64, Option<String>)>>,
    count: watch::Sender<usize>,
}

impl Default for CallsUnderWay {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
            count: watch::Sender::new(0),
        }
    }
}

impl CallsUnderWay {
    /// Notes a call of this session for as long as the answer lives.
    pub(crate) fn begin(self: &Arc<Self>, session: Option<&str>) -> CallUnderWay {
        let mut calls = self.calls();
        let number = calls.last().map_or(0, |(number, _)| number + 1);
        calls.push((number, session.map(str::to_owned)));
        self.count.send_replace(calls.len());
        CallUnderWay {
            calls: Arc::clone(self),
            number,
        }
    }

    /// Whose the newest call is; `None` if there is no call at all.
    pub(crate) fn newest(&self) -> Option<CallOwner> {
        let calls = self.calls();
        let (_, session) = calls.last()?;
        Some(CallOwner {
            session: session.clone(),
        })
    }

    /// Ends when no call is under way.
    pub(crate) async fn none_left(&self) {
        let mut count = self.count.subscribe();
        // Fails when we are gone ourselves.
        drop(count.wait_for(|count| *count == 0).await);
    }

    fn calls(&self) -> MutexGuard<'_, Vec<(u64, Option<String>)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose a call is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CallOwner {
    /// `None` for a call that belongs to no conversation.
    pub(crate) session: Option<String>,
}

/// A call under way.
pub(crate) struct CallUnderWay {
    calls: Arc<CallsUnderWay>,
    number: u64,
}

impl Drop for CallUnderWay {
    fn drop(&mut self) {
        let mut calls = self.calls.calls();
        calls.retain(|(number, _)| *number != self.number);
        self.calls.count.send_replace(calls.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_call_is_the_one_that_pays() {
        let calls = Arc::<CallsUnderWay>::default();
        assert_eq!(calls.newest(), None);
        let first = calls.begin(Some("a"));
        let second = calls.begin(None);
        let owner = |session: Option<&str>| CallOwner {
            session: session.map(str::to_owned),
        };
        assert_eq!(calls.newest(), Some(owner(None)));
        drop(second);
        assert_eq!(calls.newest(), Some(owner(Some("a"))));
        drop(first);
        assert_eq!(calls.newest(), None);
    }
}
