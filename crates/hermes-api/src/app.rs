//! Everything that requests share.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use hermes_runtime::Context;
use hyper::Request;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use crate::host::ApiHost;
use crate::http::{ApiError, AuthFailures};
use crate::idempotency::RepeatedRequests;
use crate::ledger::TurnLedger;
use crate::metrics::{Gauges, Metrics};
use crate::responses::ResponseStore;
use crate::routes;
use crate::runs::RunRegistry;
use crate::settings::ApiSettings;
use crate::turn::Turns;

/// The state of a server.
pub(crate) struct App {
    pub(crate) settings: ApiSettings,
    pub(crate) host: Arc<dyn ApiHost>,
    pub(crate) failures: AuthFailures,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) turns: Turns,
    pub(crate) repeated: RepeatedRequests,
    pub(crate) responses: ResponseStore,
    pub(crate) ledger: Arc<TurnLedger>,
    pub(crate) runs: RunRegistry,
    router: TowerToHyperService<Router>,
}

impl App {
    pub(crate) fn new(settings: ApiSettings, host: Arc<dyn ApiHost>) -> Arc<Self> {
        let metrics = Arc::new(Metrics::new());
        let ledger = Arc::new(TurnLedger::new());
        Arc::new(Self {
            turns: Turns::new(
                &settings,
                Arc::clone(&host),
                Arc::clone(&metrics),
                Arc::clone(&ledger),
            ),
            ledger,
            failures: AuthFailures::default(),
            repeated: RepeatedRequests::default(),
            responses: ResponseStore::new(),
            runs: RunRegistry::default(),
            router: TowerToHyperService::new(routes::router()),
            metrics,
            settings,
            host,
        })
    }

    /// The profile, as it is configured now.
    pub(crate) fn context(&self) -> Arc<Context> {
        self.host.context()
    }

    /// Lets the endpoint of a request answer it.
    pub(crate) async fn route(self: &Arc<Self>, mut request: Request<Body>) -> Response {
        if let Err(error) = self.without_profile(&mut request) {
            return error.into_response();
        }
        request.extensions_mut().insert(Arc::clone(self));
        let answered: Result<Response, Infallible> = self.router.call(request).await;
        match answered {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// Takes `/p/PROFILE` off the path of a request; another profile than this one is not served here.
    fn without_profile(&self, request: &mut Request<Body>) -> Result<(), ApiError> {
        let path = request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str());
        let Some((profile, rest)) = path
            .strip_prefix("/p/")
            .and_then(|path| path.split_once('/'))
        else {
            return Ok(());
        };
        let own = self.context().current.as_ref().map(ToString::to_string);
        if profile != own.as_deref().unwrap_or("default") {
            let shown = hermes_text::shown(profile, 80);
            let message = format!("this server does not serve the profile {shown}");
            return Err(ApiError::not_found(message).code("profile_not_found"));
        }
        let rest = format!("/{rest}").parse();
        *request.uri_mut() = rest.map_err(|_| ApiError::bad_request("the path is not usable"))?;
        Ok(())
    }

    /// What is counted at this moment.
    pub(crate) fn gauges(&self) -> Gauges {
        let (open_conversations, open_conversation_bytes) = self.turns.kept();
        Gauges {
            active_turns: self.turns.active(),
            open_conversations,
            open_conversation_bytes,
            runs: self.runs.len(),
        }
    }
}

/// Runs work that may wait for the disk beside the connections.
pub(crate) async fn off_loop<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            tracing::error!(%error, "a request failed");
            Err(ApiError::internal(
                "the request failed; the log has the reason",
            ))
        }
    }
}
