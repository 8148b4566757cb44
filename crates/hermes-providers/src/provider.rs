//! The one door to a model.

use std::sync::Arc;

use hermes_proc::Wake;

use crate::error::ProviderError;
use crate::request::Request;
use crate::response::{Response, StreamEvent};

/// Where requests go at the moment, for display, for records and for budgets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteInfo {
    /// Id of the provider: `openrouter`, `custom`, `replay`, …
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// Address; empty where nothing is asked over a network.
    pub base_url: String,
    /// Size of the context window in tokens, as far as is known.
    pub context_length: u64,
    /// Most tokens of an answer, where the route sets one.
    pub max_tokens: Option<u32>,
    /// Whether images may be sent, as far as is known.
    pub takes_images: bool,
}

impl RouteInfo {
    /// The same place and model as another.
    pub fn is_same(&self, other: &Self) -> bool {
        self.provider == other.provider
            && self.model == other.model
            && self.base_url == other.base_url
    }
}

/// Something that answers.
///
/// Calls block. Raising the flag `interrupt` ends one within a moment, with an error of the class
/// [`crate::ErrorClass::Interrupted`]. Several threads may call at once.
pub trait Provider: Send + Sync {
    /// Asks and waits for the whole answer; `sink` hears of its pieces on the way.
    fn complete(
        &self,
        request: &Request,
        sink: &mut dyn FnMut(StreamEvent),
        interrupt: &Wake,
    ) -> Result<Response, ProviderError>;

    /// Where the next request goes.
    fn route(&self) -> RouteInfo;

    /// A new turn begins: back to the first choice, if another one took over during the last.
    fn begin_turn(&self) {}

    /// The route that answers now is of no use to the caller, for a reason that is no error: `why`
    /// completes a sentence that begins with its name. Whether another one takes over.
    fn give_up_on_route(&self, _why: &str, _sink: &mut dyn FnMut(StreamEvent)) -> bool {
        false
    }

    /// The same routes for another conversation, which begins where this one is now and does not
    /// change where this one goes. `None` where there is nothing to go astray.
    fn branch(&self) -> Option<Arc<dyn Provider>> {
        None
    }

    /// The provider stated, in an error, a smaller window than [`RouteInfo::context_length`]: it
    /// counts from now on and is remembered for the next start.
    fn adopt_context_length(&self, _tokens: u64) {}
}
