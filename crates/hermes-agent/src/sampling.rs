//! Answers of the model to MCP servers that ask it (`sampling/createMessage`).

use std::time::Duration;

use hermes_proc::Wake;
use hermes_providers::{AuxiliaryModels, AuxiliaryTask, ModelRequest, ModelResponse};

use crate::answer_text::cleaned;
use crate::auxiliary::{Account, cost, record};

/// What the model of `auxiliary.mcp`, or the one that is named, answers. The cost goes to the account.
pub fn answer_server(
    models: &AuxiliaryModels,
    model: Option<&str>,
    timeout: Duration,
    request: &ModelRequest,
    interrupt: &Wake,
    account: &Account,
) -> Result<ModelResponse, String> {
    let task = AuxiliaryTask::Mcp;
    let provider = models.open_with(task, model, timeout);
    let provider = provider.map_err(|error| error.to_string())?;
    let mut response = provider
        .complete(request, &mut |_| {}, interrupt)
        .map_err(|error| error.to_string())?;
    let route = provider.route();
    record(account, &cost(&response, &route, task.name()));
    let text = cleaned(&response.text);
    text.trim().clone_into(&mut response.text);
    response.model.get_or_insert(route.model);
    Ok(response)
}
