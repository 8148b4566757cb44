//! The dashboard as a server: what it listens on, and how it begins and ends.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use hermes_proc::Wake;
use hermes_runtime::Context;
use hermes_serve::{BindError, Endpoints, Limits, Listener, Peer, Service};
use hyper::Request;

use crate::admission::answered;
use crate::app::App;
use crate::routes::{ROUTES, router};
use crate::settings::DashboardSettings;

/// How often it is looked whether anybody asks; without a request between two looks the dashboard rests.
const LOOK: Duration = Duration::from_secs(2);

const LIMITS: Limits = Limits {
    head: Duration::from_secs(30),
    end: Duration::from_millis(700),
    disk_threads: 8,
    tick: Some(LOOK),
};

/// A dashboard that listens.
pub struct Dashboard {
    listener: Listener,
    served: Arc<Served>,
}

/// What answers requests.
struct Served {
    app: Arc<App>,
    endpoints: Endpoints,
    /// Requests so far.
    requests: AtomicU64,
    /// Requests at the last look, and whether the dashboard rests since then.
    seen: Mutex<(u64, bool)>,
}

impl Dashboard {
    /// Listens. Answers nobody before [`Self::run`].
    pub fn bind(settings: DashboardSettings, context: Context) -> Result<Self, BindError> {
        let listener = Listener::bind(&settings.gate.host, settings.port)?;
        let address = listener.address().map_err(|source| BindError::Failed {
            host: settings.gate.host.clone(),
            port: settings.port,
            source,
        })?;
        let served = Served {
            endpoints: Endpoints::new(router()),
            requests: AtomicU64::new(0),
            seen: Mutex::default(),
            app: App::new(settings, address.port(), context, ROUTES),
        };
        Ok(Self {
            listener,
            served: Arc::new(served),
        })
    }

    /// Where the dashboard listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }

    /// The address of the first page, for people.
    pub fn url(&self) -> String {
        self.served.app.own_url()
    }

    /// Answers requests until the flag is up, and ends within a second then, whatever clients do.
    pub fn run(&self, stop: &Wake) -> io::Result<()> {
        self.listener.serve(&self.served, LIMITS, stop)
    }
}

impl Service for Served {
    async fn answer(&self, peer: &Peer, request: Request<Body>) -> Response {
        self.requests.fetch_add(1, Ordering::Relaxed);
        answered(&self.app, &self.endpoints, peer, request).await
    }

    fn tick(&self) {
        let requests = self.requests.load(Ordering::Relaxed);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, was_resting) = *seen;
        *seen = (requests, requests == before);
        if requests == before && !was_resting {
            let app = Arc::clone(&self.app);
            drop(tokio::task::spawn_blocking(move || app.rest()));
        }
    }

    fn stopping(&self) {
        self.app.stop();
    }

    fn ended(&self, limit: Duration) {
        self.app.runs.wait(limit);
    }
}
