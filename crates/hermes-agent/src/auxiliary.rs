//! Requests for auxiliary tasks, not streamed, with a record of their cost, and the JSON in answers.

use std::borrow::Cow;
use std::path::PathBuf;

use hermes_proc::Wake;
use hermes_providers::{
    AuxiliaryModels, AuxiliaryTask, Cost, ErrorClass, Message, ModelRequest, ModelResponse,
    Provider, ProviderError, RouteInfo,
};
use hermes_session::{SessionId, SessionStore, UsageRecord};
use serde_json::{Map, Value};

use crate::answer_text::cleaned;

/// Where the cost of a request is recorded: a home and a session in it.
pub(crate) type Account = Option<(PathBuf, SessionId)>;

#[derive(Debug, Clone)]
pub(crate) struct AuxiliaryAnswer {
    /// Without reasoning, trimmed. May be empty.
    pub(crate) text: String,
    /// Under the name of the task.
    pub(crate) usage: UsageRecord,
}

/// A question to the model of an auxiliary task.
pub(crate) struct AuxiliaryQuestion {
    pub(crate) task: AuxiliaryTask,
    pub(crate) instructions: Cow<'static, str>,
    pub(crate) text: String,
    /// Includes room for reasoning.
    pub(crate) max_tokens: u32,
    pub(crate) temperature: f64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error("{0}")]
    NoModel(String),
    #[error(transparent)]
    Failed(#[from] ProviderError),
}

impl Unanswered {
    /// Whether the request failed in this way.
    pub(crate) fn is(&self, class: ErrorClass) -> bool {
        matches!(self, Self::Failed(error) if error.class == class)
    }
}

impl AuxiliaryQuestion {
    /// Asks the model that the settings name for the task.
    pub(crate) fn ask(
        self,
        models: &AuxiliaryModels,
        interrupt: &Wake,
    ) -> Result<AuxiliaryAnswer, Unanswered> {
        let provider = models.open(self.task);
        let provider = provider.map_err(|error| Unanswered::NoModel(error.to_string()))?;
        let request = ModelRequest {
            max_tokens: Some(self.max_tokens),
            temperature: Some(self.temperature),
            task: Some(self.task),
            ..ModelRequest::new(self.instructions, vec![Message::user(self.text)])
        };
        Ok(ask_auxiliary(&*provider, &request, interrupt)?)
    }
}

/// Sends the request of an auxiliary task, named by [`ModelRequest::task`].
pub(crate) fn ask_auxiliary(
    provider: &dyn Provider,
    request: &ModelRequest,
    interrupt: &Wake,
) -> Result<AuxiliaryAnswer, ProviderError> {
    let response = provider.complete(request, &mut |_| {}, interrupt)?;
    let task = request.task.map_or("", |task| task.name());
    Ok(AuxiliaryAnswer {
        text: cleaned(&response.text).trim().to_owned(),
        usage: cost(&response, &provider.route(), task),
    })
}

/// Records a cost. The answer counts even if that fails.
pub(crate) fn record(account: &Account, usage: &UsageRecord) {
    let Some((home, session)) = account else {
        return;
    };
    let recorded =
        SessionStore::open(home).and_then(|mut store| store.record_usage(session, usage));
    if let Err(error) = recorded {
        tracing::warn!(%error, task = usage.task, "the cost of an auxiliary request was not recorded");
    }
}

/// The cost of a response for the session.
pub(crate) fn cost(response: &ModelResponse, route: &RouteInfo, task: &str) -> UsageRecord {
    let usage = response.usage.unwrap_or_default();
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    UsageRecord {
        api_calls: 1,
        input_tokens: count(usage.input),
        output_tokens: count(usage.output),
        cache_read_tokens: count(usage.cache_read),
        cache_write_tokens: count(usage.cache_write),
        reasoning_tokens: count(usage.reasoning),
        estimated_cost_usd: response.cost.usd(),
        actual_cost_usd: match response.cost {
            Cost::Stated(dollars) => Some(dollars),
            Cost::Included | Cost::Unknown => None,
        },
        cost_status: Some(response.cost.status().to_owned()),
        cost_source: response.cost.source().map(str::to_owned),
        model: Some(route.model.clone()),
        provider: Some(route.provider.clone()),
        base_url: Some(route.base_url.clone()).filter(|url| !url.is_empty()),
        task: task.to_owned(),
        ..UsageRecord::default()
    }
}

/// The object between the first opening and the last closing brace.
pub(crate) fn object_in(answer: &str) -> Option<Map<String, Value>> {
    let first = answer.find('{')?;
    let last = answer.rfind('}')?;
    let inner = answer.get(first..=last)?;
    match serde_json::from_str(inner) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// A text field that is not empty.
pub(crate) fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    let text = object.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn object_is_found_in_fences_and_text() {
        for answer in [
            r#"{"a": "{x}"}"#,
            "```json\n{\"a\": \"{x}\"}\n```",
            "Here you are: {\"a\": \"{x}\"} — done.",
        ] {
            let object = object_in(answer).unwrap();
            assert_eq!(Value::Object(object), json!({"a": "{x}"}), "{answer}");
        }
        for answer in ["", "no", "}{", "{\"a\"", "[1]", "{a: 1}", "ü{ö}"] {
            assert_eq!(object_in(answer), None, "{answer}");
        }
    }
}
