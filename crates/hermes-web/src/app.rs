//! Everything that requests share.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hermes_api::{ApiHost, EmbeddedRuns};
use hermes_runtime::Context;
use hermes_secret::Redactor;
use hermes_serve::Route;
use tokio::sync::{Semaphore, watch};

use crate::action_registry::Actions;
use crate::channels::Channels;
use crate::gate::Gate;
use crate::http::ApiError;
use crate::kept_boards::KeptBoards;
use crate::live::BoardFeeds;
use crate::provider_logins::ProviderLogins;
use crate::remote_gateway::RemoteGateway;
use crate::samples::Samples;
use crate::session_readers::SessionReaders;
use crate::settings::DashboardSettings;
use crate::shared_reads::SharedReads;

/// WebSockets at once.
const MOST_SOCKETS: usize = 512;

/// The state of a dashboard.
pub(crate) struct App {
    /// A front-end of another build.
    pub(crate) web_dist: Option<PathBuf>,
    /// Whether the chat in a terminal is offered.
    pub(crate) has_chat: bool,
    /// The port in use.
    pub(crate) port: u16,
    pub(crate) gate: Gate,
    /// Every endpoint.
    pub(crate) routes: &'static [Route],
    pub(crate) actions: Actions,
    pub(crate) feeds: Arc<BoardFeeds>,
    /// Places for WebSockets.
    pub(crate) sockets: Arc<Semaphore>,
    /// What programs tell each other.
    pub(crate) channels: Channels,
    context: Arc<CurrentContext>,
    /// What a gateway in another container has said.
    pub(crate) remote_gateway: RemoteGateway,
    /// Logins to model providers that are on their way.
    pub(crate) provider_logins: ProviderLogins,
    /// Turns of the chat page.
    pub(crate) runs: EmbeddedRuns,
    /// What the status page has measured.
    pub(crate) samples: Samples,
    /// Connections to stored conversations.
    pub(crate) sessions: SessionReaders,
    /// Connections to boards.
    pub(crate) boards: KeptBoards,
    /// What pages have asked the API for.
    pub(crate) reads: SharedReads,
    /// Masks secrets, with the settings and the version of the key store that it knows.
    redactor: Mutex<Option<Known>>,
    /// True once the dashboard stops: streams end then.
    stopping: watch::Sender<bool>,
}

/// A redactor, and what it was made from.
struct Known {
    context: Arc<Context>,
    keys: Option<hermes_fs::Version>,
    redactor: Arc<Redactor>,
}

impl App {
    pub(crate) fn new(
        settings: DashboardSettings,
        port: u16,
        context: Context,
        routes: &'static [Route],
    ) -> Arc<Self> {
        let context = Arc::new(CurrentContext(RwLock::new(Arc::new(context))));
        Arc::new(Self {
            gate: Gate::new(settings.gate, &context.get().location.home),
            web_dist: settings.web_dist,
            has_chat: settings.has_chat,
            routes,
            actions: Actions::default(),
            feeds: Arc::default(),
            sockets: Arc::new(Semaphore::new(MOST_SOCKETS)),
            channels: Channels::default(),
            port,
            runs: EmbeddedRuns::new(Arc::clone(&context) as Arc<dyn ApiHost>, TURNS),
            context,
            remote_gateway: RemoteGateway::default(),
            provider_logins: ProviderLogins::default(),
            samples: Samples::default(),
            sessions: SessionReaders::default(),
            boards: KeptBoards::default(),
            reads: SharedReads::default(),
            redactor: Mutex::new(None),
            stopping: watch::channel(false).0,
        })
    }

    /// The profile, as it is configured now. Settings are read again when a file has changed.
    pub(crate) fn context(&self) -> Arc<Context> {
        self.context.get()
    }

    /// Masks every secret that this home knows.
    pub(crate) fn redactor(&self) -> Arc<Redactor> {
        let context = self.context();
        let keys = hermes_fs::version(&context.location.home.join("auth.json"));
        let mut known = self.redactor.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known
            && Arc::ptr_eq(&known.context, &context)
            && keys.is_some()
            && known.keys == keys
        {
            return Arc::clone(&known.redactor);
        }
        let redactor = Arc::new(context.redactor().that_knows(&self.gate.settings.token));
        *known = Some(Known {
            context,
            keys,
            redactor: Arc::clone(&redactor),
        });
        redactor
    }

    /// Ends all streams.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
        self.runs.interrupt();
        self.provider_logins.stop();
    }

    /// Gives back what is kept for the next request, as there has been none for a while.
    pub(crate) fn rest(&self) {
        self.reads.forget();
        self.sessions.close();
        self.boards.close();
        hermes_proc::give_back_idle_memory();
    }

    /// Becomes true when the dashboard stops.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// The address of the first page, for people.
    pub(crate) fn own_url(&self) -> String {
        if let Some(url) = &self.gate.settings.public_url {
            return url.as_text();
        }
        let host = self.gate.settings.host.as_str();
        let host = match host.parse::<IpAddr>() {
            Ok(address) if address.is_unspecified() => "127.0.0.1".to_owned(),
            Ok(IpAddr::V6(address)) => format!("[{address}]"),
            _ => host.to_owned(),
        };
        format!("http://{host}:{}", self.port)
    }
}

/// Waits until the dashboard stops.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // The sender lives as long as the dashboard: an error means the end as well.
    drop(stopping.wait_for(|stopping| *stopping).await);
}

/// The record of the chat page's turns, in the home.
const TURNS: &str = "dashboard_turns.db";

/// The profile with its settings as they are now.
struct CurrentContext(RwLock<Arc<Context>>);

impl CurrentContext {
    fn get(&self) -> Arc<Context> {
        let known = Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner));
        if known.config().is_current() {
            return known;
        }
        let fresh = Arc::new(known.with_env(known.env.clone()));
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&fresh);
        fresh
    }
}

impl ApiHost for CurrentContext {
    fn context(&self) -> Arc<Context> {
        self.get()
    }
}

/// Runs work that may wait for the disk beside the connections.
pub(crate) async fn off_loop<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    hermes_serve::off_loop(work).await
}
