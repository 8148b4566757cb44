//! The end of a server, for everything that would wait for it.

use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct Closing(watch::Sender<bool>);

impl Default for Closing {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Closing {
    /// From now on nothing is begun any more.
    pub(super) fn begin(&self) {
        self.0.send_replace(true);
    }

    pub(super) fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Ends when the end begins.
    pub(super) async fn begun(&self) {
        let mut begun = self.0.subscribe();
        // Fails when we are gone ourselves.
        drop(begun.wait_for(|has_begun| *has_begun).await);
    }
}
