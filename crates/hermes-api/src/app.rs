//! Everything that requests share.

use std::sync::Arc;

use hermes_runtime::Context;
use hermes_serve::Route;

use crate::active_runs::RunRegistry;
use crate::host::ApiHost;
use crate::http::{ApiError, AuthFailures};
use crate::ledger::TurnLedger;
use crate::metrics::{Gauges, Metrics};
use crate::repeated::RepeatedRequests;
use crate::response_store::ResponseStore;
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
    /// Every endpoint.
    pub(crate) routes: &'static [Route],
}

impl App {
    pub(crate) fn new(
        settings: ApiSettings,
        host: Arc<dyn ApiHost>,
        routes: &'static [Route],
    ) -> Arc<Self> {
        Self::with_ledger(settings, host, routes, TurnLedger::new())
    }

    /// With a record of turns of its own.
    pub(crate) fn with_ledger(
        settings: ApiSettings,
        host: Arc<dyn ApiHost>,
        routes: &'static [Route],
        ledger: TurnLedger,
    ) -> Arc<Self> {
        let metrics = Arc::new(Metrics::new());
        let ledger = Arc::new(ledger);
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
            routes,
            metrics,
            settings,
            host,
        })
    }

    /// The profile, as it is configured now.
    pub(crate) fn context(&self) -> Arc<Context> {
        self.host.context()
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
    hermes_serve::off_loop(work).await
}
