//! The interface of all providers.

use std::sync::Arc;

use hermes_proc::Wake;

use crate::error::ProviderError;
use crate::request::ModelRequest;
use crate::response::{ModelResponse, StreamEvent};

/// The current route of requests, for display, records and budgets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RouteInfo {
    /// Id of the provider: `openrouter`, `custom`, `replay`, …
    pub provider: String,
    pub model: String,
    /// Address; empty if there is no network.
    pub base_url: String,
    /// Size of the context window in tokens, as far as known.
    pub context_length: u64,
    pub max_tokens: Option<u32>,
    /// Whether images may be sent, as far as known.
    pub takes_images: bool,
    /// Whether requests are of the Responses API.
    pub is_responses: bool,
    /// Service tier that is asked for, if one is.
    pub service_tier: Option<String>,
}

impl RouteInfo {
    /// Whether provider, model and address are equal.
    pub fn is_same(&self, other: &Self) -> bool {
        self.provider == other.provider
            && self.model == other.model
            && self.base_url == other.base_url
    }
}

/// A provider of answers.
///
/// Calls block. Raising `interrupt` ends a call at once with an error of class
/// [`crate::ErrorClass::Interrupted`]. Several threads may call at once.
pub trait Provider: Send + Sync {
    /// Sends a request and waits for the whole answer; `sink` receives its pieces.
    fn complete(
        &self,
        request: &ModelRequest,
        sink: &mut dyn FnMut(StreamEvent),
        interrupt: &Wake,
    ) -> Result<ModelResponse, ProviderError>;

    /// The route of the next request.
    fn route(&self) -> RouteInfo;

    /// Begins a new turn: returns to the first route after a fallback.
    fn begin_turn(&self) {}

    /// Leaves the current route for a reason that is not an error: `why` completes a sentence that
    /// begins with the provider's name. Returns whether there is another route.
    fn give_up_on_route(&self, _why: &str, _sink: &mut dyn FnMut(StreamEvent)) -> bool {
        false
    }

    /// The same routes for another conversation, which begins at the current route and switches
    /// independently. `None` if the provider has only one route.
    fn branch(&self) -> Option<Arc<dyn Provider>> {
        None
    }

    /// Adopts a context window that the provider stated in an error, and remembers it for the next
    /// start.
    fn adopt_context_length(&self, _tokens: u64) {}
}
