//! Questions beside a conversation: asked once, whole, and with a record of what they cost.
//!
//! Stores nothing: the record is for whoever knows which session it belongs to.

use hermes_proc::Wake;
use hermes_providers::{Provider, ProviderError, Request};
use hermes_session::Usage;

use crate::answer_text::cleaned;
use crate::turn::cost;

/// What a side task brought.
#[derive(Debug, Clone)]
pub struct SideAnswer {
    /// The answer without thoughts, trimmed. May be empty.
    pub text: String,
    /// What it cost, under the name of the task.
    pub usage: Usage,
}

/// Asks the model of a side task. [`Request::task`] says what it is about.
pub fn ask_aside(
    provider: &dyn Provider,
    request: &Request,
    interrupt: &Wake,
) -> Result<SideAnswer, ProviderError> {
    let response = provider.complete(request, &mut |_| {}, interrupt)?;
    let task = request.task.map_or("", |task| task.name());
    Ok(SideAnswer {
        text: cleaned(&response.text).text.trim().to_owned(),
        usage: cost(&response, &provider.route(), task),
    })
}
