//! A place where commands run, as the rest of Hermes sees it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hermes_proc::Wake;

use super::control::Patience;
use super::settings::RemoteSettings;
use super::site::Site;
use super::transport::Transport;

/// From SIGTERM to SIGKILL when a command is ended.
const GRACE: Duration = Duration::from_secs(2);
/// For a kill as a whole.
const KILL_BOUND: Duration = Duration::from_secs(5);
/// The same when Hermes itself is about to end.
const LAST_GRACE: Duration = Duration::from_secs(1);
const LAST_KILL_BOUND: Duration = Duration::from_secs(3);

/// Runs commands in a container or on another machine. One per place; shared by all sessions.
/// Dropped, it lets go of the place: background processes there go on.
pub struct RemoteTerminal {
    pub(super) site: Arc<Site>,
}

impl RemoteTerminal {
    /// A place that is reached through `transport`. Nothing is started before the first command.
    pub fn new(transport: Arc<dyn Transport>, settings: RemoteSettings) -> Self {
        Self {
            site: Arc::new(Site::new(transport, settings)),
        }
    }

    /// Where sessions start, as seen there; may begin with `~`.
    pub fn start_directory(&self) -> PathBuf {
        self.site.transport.start_directory()
    }

    /// The place in words.
    pub fn describe(&self) -> String {
        self.site.transport.describe()
    }

    /// How it is reached.
    pub fn transport(&self) -> &Arc<dyn Transport> {
        &self.site.transport
    }

    /// Whether background processes of ours run there.
    pub fn has_live_background(&self) -> bool {
        self.site.background.load(Ordering::Acquire) > 0
    }

    /// Whether a command is under way.
    pub fn is_busy(&self) -> bool {
        self.site.is_busy()
    }

    /// When the last command began or ended.
    pub fn last_activity(&self) -> Instant {
        self.site.last_activity()
    }

    /// Lets go of the place: all channels are closed, what runs in the background goes on. The next
    /// command opens new ones; sessions keep what they have.
    pub fn detach(&self) {
        self.site.detach();
    }

    /// Held by whoever fetches the news of background processes.
    pub(crate) fn polling(&self) -> &std::sync::Mutex<()> {
        &self.site.polling
    }

    /// Brings what must be there before a command.
    pub(super) fn prepare(&self) {
        if let Err(error) = self.site.transport.before_command() {
            tracing::warn!(%error, place = self.describe(), "not everything was brought there");
        }
    }

    /// What is said about processes that could not be looked after.
    pub(super) fn doubt(&self) -> String {
        let place = self.describe();
        if place.starts_with("container") {
            "; its processes in the container may still be running".to_owned()
        } else {
            format!("; its processes on {place} may still be running")
        }
    }
}

impl std::fmt::Debug for RemoteTerminal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("RemoteTerminal")
            .field(&self.describe())
            .finish()
    }
}

impl Drop for RemoteTerminal {
    fn drop(&mut self) {
        self.site.detach();
    }
}

/// How patient a kill is; Hermes' own end leaves less time.
pub(super) fn patience(shutdown: Option<&Wake>) -> Patience {
    let is_last = shutdown.is_some_and(Wake::is_raised);
    Patience {
        grace: if is_last { LAST_GRACE } else { GRACE },
        force: true,
        bound: if is_last { LAST_KILL_BOUND } else { KILL_BOUND },
    }
}
