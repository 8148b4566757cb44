//! The runs of another surface of this process: the same endpoints without a socket, for callers that
//! were let in already.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use hermes_serve::{Endpoints, answered};
use hyper::{Method, Request, Uri};

use crate::app::App;
use crate::host::ApiHost;
use crate::ledger::TurnLedger;
use crate::routes::{ROUTES, router};
use crate::server::sweep_ledger;
use crate::settings::ApiSettings;

/// The endpoints of runs. Turns are recorded beside those of the server of the profile's gateway: what
/// one process has on its way is not the other's to take up again.
pub struct EmbeddedRuns {
    app: Arc<App>,
    endpoints: Endpoints,
}

impl EmbeddedRuns {
    /// Touches nothing before the first request. `file` is the name of the record of turns in the home.
    pub fn new(host: Arc<dyn ApiHost>, file: &'static str) -> Self {
        let settings = ApiSettings::embedded(&host.context());
        let ledger = TurnLedger::in_file(file);
        Self {
            app: App::with_ledger(settings, host, ROUTES, ledger),
            endpoints: Endpoints::new(router()),
        }
    }

    /// Answers a request about runs. The caller has made sure who asks.
    pub async fn answer(&self, mut request: Request<Body>, path: &str) -> Response {
        let is_new = request.method() == Method::POST;
        // A path that cannot be asked for is one that nothing is at.
        let place = path.parse().unwrap_or_else(|_| Uri::from_static("/"));
        *request.uri_mut() = place;
        request.extensions_mut().insert(Arc::clone(&self.app));
        let response = answered(&self.endpoints, request).await;
        if is_new {
            self.app.turns.sweep();
            sweep_ledger(&self.app);
        }
        response
    }

    /// Interrupts what is on its way.
    pub fn interrupt(&self) {
        self.app.turns.interrupt_all();
    }

    /// Waits for the end of what was interrupted, no longer than this.
    pub fn wait(&self, limit: Duration) {
        self.app.turns.stop(limit);
    }
}
