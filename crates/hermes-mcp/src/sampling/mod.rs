//! Requests of servers to the model (`sampling/createMessage`): off unless a server's settings allow
//! them, counted, bounded, and only while one of the server's tools is being called.

mod calls_under_way;
mod convert;
mod gate;
mod model_choice;
mod settings;

pub(crate) use calls_under_way::CallsUnderWay;
pub(crate) use gate::SamplingGate;
pub use settings::{SamplingConfig, SamplingLog};

use std::time::Duration;

use hermes_proc::Wake;
use hermes_providers::{ModelRequest, ModelResponse};

/// A request of a server to the model, checked.
#[derive(Debug)]
pub struct SampleRequest {
    /// Another model than that of `auxiliary.mcp`.
    pub model: Option<String>,
    pub request: ModelRequest,
    /// Longest wait for the answer.
    pub timeout: Duration,
    /// The session whose call the server is working on: who pays.
    pub session: Option<String>,
}

/// Who answers requests of servers.
pub trait Sampler: Send + Sync {
    /// Asks the model, and blocks until it has answered or the interrupt is raised. An error is a
    /// sentence for the server.
    fn sample(&self, request: SampleRequest, interrupt: &Wake) -> Result<ModelResponse, String>;
}
