//! What programs say to each other by name. Nothing is kept for later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;

/// Messages that may wait for a listener.
const MOST_WAITING: usize = 256;

/// All channels that somebody listens to.
#[derive(Default)]
pub(crate) struct Channels(Mutex<HashMap<String, broadcast::Sender<Arc<str>>>>);

impl Channels {
    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<String, broadcast::Sender<Arc<str>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is said on a channel from now on.
    pub(crate) fn listen(&self, name: &str) -> broadcast::Receiver<Arc<str>> {
        let mut all = self.all();
        let sender = all.entry(name.to_owned());
        sender
            .or_insert_with(|| broadcast::channel(MOST_WAITING).0)
            .subscribe()
    }

    /// Says something to those who listen now.
    pub(crate) fn say(&self, name: &str, text: Arc<str>) {
        if let Some(sender) = self.all().get(name) {
            // Without a listener there is nobody to tell.
            drop(sender.send(text));
        }
    }

    /// Forgets a channel that nobody listens to any more.
    pub(crate) fn tidy(&self, name: &str) {
        let mut all = self.all();
        if all
            .get(name)
            .is_some_and(|sender| sender.receiver_count() == 0)
        {
            all.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Channels, MOST_WAITING};
    use pretty_assertions::assert_eq;
    use tokio::sync::broadcast::error::TryRecvError;

    #[test]
    fn only_who_listens_now_hears_and_who_is_slow_is_told() {
        let channels = Channels::default();
        channels.say("one", "before".into());
        let mut first = channels.listen("one");
        let mut other = channels.listen("two");
        channels.say("one", "hello".into());
        assert_eq!(first.try_recv().as_deref(), Ok("hello"));
        assert_eq!(other.try_recv(), Err(TryRecvError::Empty));
        for number in 0..=MOST_WAITING {
            channels.say("one", number.to_string().into());
        }
        assert_eq!(first.try_recv(), Err(TryRecvError::Lagged(1)));
        drop(first);
        channels.tidy("one");
        channels.tidy("two");
        assert_eq!(channels.all().keys().collect::<Vec<_>>(), ["two"]);
    }
}
