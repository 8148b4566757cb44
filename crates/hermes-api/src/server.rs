//! The API server as a server: what it listens on, and how it begins and ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use hermes_proc::Wake;
use hermes_serve::{Endpoints, Limits, Listener, Service};
use hyper::Request;

use crate::app::App;
use crate::guard::{Peer, guarded};
use crate::host::ApiHost;
use crate::recovery::recover;
use crate::routes::{ROUTES, router};
use crate::settings::ApiSettings;

const LIMITS: Limits = Limits {
    head: Duration::from_secs(15),
    end: Duration::from_secs(5),
    disk_threads: 4,
    // What is kept for a while is looked through.
    tick: Some(Duration::from_secs(30)),
};

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else has the port.
    #[error("port {port} on {host} is in use; set API_SERVER_PORT to a free one")]
    PortInUse { host: String, port: u16 },
    /// Anything else.
    #[error("the API server {0}")]
    Failed(hermes_serve::BindError),
}

impl BindError {
    /// The code in the state file of a gateway.
    pub fn code(&self) -> &'static str {
        match self {
            Self::PortInUse { .. } => "api_server_port_in_use",
            Self::Failed(_) => "api_server_bind_failed",
        }
    }
}

impl From<hermes_serve::BindError> for BindError {
    fn from(error: hermes_serve::BindError) -> Self {
        match error {
            hermes_serve::BindError::PortInUse { host, port } => Self::PortInUse { host, port },
            failed @ hermes_serve::BindError::Failed { .. } => Self::Failed(failed),
        }
    }
}

/// A server that listens.
pub struct ApiServer {
    listener: Listener,
    served: Arc<Served>,
}

/// What answers requests.
struct Served {
    app: Arc<App>,
    endpoints: Endpoints,
}

impl ApiServer {
    /// Listens. Answers nobody before [`Self::run`].
    pub fn bind(settings: ApiSettings, host: Arc<dyn ApiHost>) -> Result<Self, BindError> {
        let listener = Listener::bind(&settings.host, settings.port)?;
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        let served = Served {
            endpoints: Endpoints::new(router()),
            app: App::new(settings, host, ROUTES),
        };
        Ok(Self {
            listener,
            served: Arc::new(served),
        })
    }

    /// Where the server listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }

    /// Answers requests until the flag is up. Turns that are still on their way then are interrupted.
    pub fn run(&self, stop: &Wake) -> io::Result<()> {
        self.listener.serve(&self.served, LIMITS, stop)
    }
}

impl Service for Served {
    async fn answer(&self, peer: &hermes_serve::Peer, request: Request<Body>) -> Response {
        guarded(&self.app, &self.endpoints, Peer(peer.ip()), request).await
    }

    fn begin(&self) {
        for run in recover(&self.app) {
            run.begin(&self.app);
        }
    }

    fn tick(&self) {
        self.app.turns.sweep();
        sweep_ledger(&self.app);
    }

    fn opened(&self) {
        self.app.metrics.connections.fetch_add(1, Ordering::Relaxed);
    }

    fn closed(&self) {
        self.app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
    }

    fn stopping(&self) {
        self.app.turns.interrupt_all();
    }

    fn ended(&self, limit: Duration) {
        self.app.turns.stop(limit);
    }
}

/// Forgets what is too old, beside the connections.
pub(crate) fn sweep_ledger(app: &Arc<App>) {
    if !app.ledger.is_open() {
        return;
    }
    let app = Arc::clone(app);
    tokio::task::spawn_blocking(move || app.ledger.sweep(&app.context().location.home));
}
