//! Requests for auxiliary tasks, not streamed, with a record of their cost.
//!
//! The record is not stored here: the caller knows its session.

use hermes_proc::Wake;
use hermes_providers::{ModelRequest, Provider, ProviderError};
use hermes_session::UsageRecord;

use crate::answer_text::cleaned;
use crate::turn::cost;

/// The answer to an auxiliary task.
#[derive(Debug, Clone)]
pub struct AuxiliaryAnswer {
    /// The answer without reasoning, trimmed. May be empty.
    pub text: String,
    /// The cost, under the name of the task.
    pub usage: UsageRecord,
}

/// Sends the request of an auxiliary task, named by [`ModelRequest::task`].
pub fn ask_auxiliary(
    provider: &dyn Provider,
    request: &ModelRequest,
    interrupt: &Wake,
) -> Result<AuxiliaryAnswer, ProviderError> {
    let response = provider.complete(request, &mut |_| {}, interrupt)?;
    let task = request.task.map_or("", |task| task.name());
    Ok(AuxiliaryAnswer {
        text: cleaned(&response.text).text.trim().to_owned(),
        usage: cost(&response, &provider.route(), task),
    })
}
