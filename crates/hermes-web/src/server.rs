//! The dashboard as a server: what it listens on, and how it begins and ends.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use hermes_proc::Wake;
use hermes_runtime::Context;
use hermes_serve::{BindError, Endpoints, Limits, Listener, Service};
use hyper::Request;

use crate::admission::answered;
use crate::app::App;
use crate::routes::{ROUTES, router};
use crate::settings::DashboardSettings;

const LIMITS: Limits = Limits {
    head: Duration::from_secs(30),
    end: Duration::from_millis(700),
    disk_threads: 8,
    tick: None,
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
    async fn answer(&self, peer: IpAddr, request: Request<Body>) -> Response {
        answered(&self.app, &self.endpoints, peer, request).await
    }

    fn stopping(&self) {
        self.app.stop();
    }

    fn ended(&self, limit: Duration) {
        self.app.runs.wait(limit);
    }
}
