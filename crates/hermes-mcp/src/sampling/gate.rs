//! The limits of one server's requests to the model, over all of its connections, and the way of a
//! request through them.
#![expect(
    deprecated,
    reason = "the protocol is about to drop sampling; servers that people have today ask for it"
)]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_proc::Wake;
use hermes_secret::Redactor;
use rmcp::model::{CreateMessageRequestParams, CreateMessageResult};
use tokio::time::timeout;

use super::calls_under_way::CallsUnderWay;
use super::settings::{SamplingConfig, SamplingLog};
use super::{SampleRequest, Sampler, convert, model_choice};

const MINUTE: Duration = Duration::from_mins(1);

/// What one server may still ask.
pub(crate) struct SamplingGate {
    server: String,
    config: SamplingConfig,
    sampler: Arc<dyn Sampler>,
    redactor: Arc<Redactor>,
    calls: Arc<CallsUnderWay>,
    /// When the requests of the last minute came.
    recent: Mutex<VecDeque<Instant>>,
    /// Answers in a row in which the model called tools.
    rounds: AtomicU32,
}

/// Ends a request to the model when nobody waits for it any more.
struct EndsWithMe(Arc<Wake>);

impl Drop for EndsWithMe {
    fn drop(&mut self) {
        self.0.raise();
    }
}

impl SamplingGate {
    pub(crate) fn new(
        server: &str,
        config: SamplingConfig,
        sampler: Arc<dyn Sampler>,
        redactor: Arc<Redactor>,
        calls: Arc<CallsUnderWay>,
    ) -> Self {
        Self {
            server: server.to_owned(),
            config,
            sampler,
            redactor,
            calls,
            recent: Mutex::default(),
            rounds: AtomicU32::new(0),
        }
    }

    /// Whether the model may call tools of the server.
    pub(crate) fn has_tools(&self) -> bool {
        self.config.tool_rounds > 0
    }

    /// Asks the model for the server. An error is a sentence for the server, and logged.
    pub(crate) async fn answer(
        &self,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, String> {
        let begun = Instant::now();
        let answered = self.answer_unlogged(params).await;
        match &answered {
            Ok(result) => self.log(&format!(
                "answered by {} in {} ms",
                result.model,
                begun.elapsed().as_millis()
            )),
            Err(reason) => {
                let server = &self.server;
                tracing::warn!(
                    server,
                    reason,
                    "a request of an MCP server to the model failed"
                );
            }
        }
        answered
    }

    async fn answer_unlogged(
        &self,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, String> {
        let Some(owner) = self.calls.newest() else {
            return Err("The model can be asked only while a tool is being called.".to_owned());
        };
        if !self.is_within_rate(Instant::now()) {
            return Err(format!(
                "Too many requests: at most {} a minute.",
                self.config.requests_a_minute
            ));
        }
        let model = model_choice::chosen(&self.config, &hints(&params))?;
        let request = convert::request(params, self.config.max_tokens, self.has_tools())?;
        self.log(&format!(
            "asks {} with {} messages",
            model.as_deref().unwrap_or("the model"),
            request.messages.len()
        ));
        let sample = SampleRequest {
            model,
            request,
            timeout: self.config.timeout,
            session: owner.session,
        };
        let no_room = |error: std::io::Error| format!("There is no room for a request: {error}.");
        let interrupt = Wake::new().map(Arc::new).map_err(no_room)?;
        let _ends = EndsWithMe(Arc::clone(&interrupt));
        let sampler = Arc::clone(&self.sampler);
        let asking = tokio::task::spawn_blocking(move || sampler.sample(sample, &interrupt));
        let answered = tokio::select! {
            answered = timeout(self.config.timeout, asking) => answered,
            () = self.calls.none_left() => return Err("The call has ended.".to_owned()),
        };
        let response = match answered {
            Ok(Ok(answered)) => answered?,
            Ok(Err(error)) => return Err(format!("Asking the model failed: {error}.")),
            Err(_) => {
                let seconds = self.config.timeout.as_secs_f64().ceil();
                return Err(format!("The model did not answer within {seconds} s."));
            }
        };
        self.count_round(!response.tool_calls.is_empty())?;
        let model = response.model.clone().unwrap_or_default();
        convert::result(response, model, |text| {
            self.redactor.redact(text).into_owned()
        })
    }

    fn is_within_rate(&self, now: Instant) -> bool {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        while recent
            .front()
            .is_some_and(|then| now.duration_since(*then) >= MINUTE)
        {
            recent.pop_front();
        }
        let most = usize::try_from(self.config.requests_a_minute).unwrap_or(usize::MAX);
        let may = recent.len() < most;
        if may {
            recent.push_back(now);
        }
        may
    }

    fn count_round(&self, calls_tools: bool) -> Result<(), String> {
        if !calls_tools {
            self.rounds.store(0, Ordering::Relaxed);
            return Ok(());
        }
        let most = self.config.tool_rounds;
        if self.rounds.fetch_add(1, Ordering::Relaxed) < most {
            return Ok(());
        }
        self.rounds.store(0, Ordering::Relaxed);
        Err(format!(
            "The model called tools more than {most} times in a row."
        ))
    }

    fn log(&self, what: &str) {
        let server = &self.server;
        match self.config.log {
            SamplingLog::Debug => tracing::debug!(server, "MCP sampling: {what}"),
            SamplingLog::Info => tracing::info!(server, "MCP sampling: {what}"),
            SamplingLog::Warning => tracing::warn!(server, "MCP sampling: {what}"),
        }
    }
}

fn hints(params: &CreateMessageRequestParams) -> Vec<String> {
    let hints = params
        .model_preferences
        .iter()
        .filter_map(|wishes| wishes.hints.as_ref())
        .flatten();
    let names = hints.filter_map(|hint| hint.name.as_deref()).map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use hermes_providers::{FinishReason, ModelResponse, ToolCall};
    use serde_json::json;

    use super::*;

    /// Answers with a text, or with a call when the last message says so; waits where it is told to.
    struct Stand;

    impl Sampler for Stand {
        fn sample(&self, sample: SampleRequest, interrupt: &Wake) -> Result<ModelResponse, String> {
            let last = sample.request.messages.last().unwrap().content.to_text();
            if last == "wait" {
                interrupt.wait(Duration::from_mins(1));
                return Err("interrupted".to_owned());
            }
            let mut response = ModelResponse::new(FinishReason::Stop);
            if last == "call" {
                response.tool_calls = vec![ToolCall::new("1", "t", "{}")];
            } else {
                response.text = format!("{}: {last}", sample.session.unwrap_or_default());
            }
            Ok(response)
        }
    }

    fn gate(config: SamplingConfig) -> (SamplingGate, Arc<CallsUnderWay>) {
        let calls = Arc::<CallsUnderWay>::default();
        let redactor = Arc::new(Redactor::default());
        let own = Arc::clone(&calls);
        (
            SamplingGate::new("srv", config, Arc::new(Stand), redactor, own),
            calls,
        )
    }

    fn config() -> SamplingConfig {
        SamplingConfig {
            model: None,
            allowed_models: Vec::new(),
            max_tokens: 100,
            timeout: Duration::from_secs(30),
            requests_a_minute: 10,
            tool_rounds: 2,
            log: SamplingLog::Debug,
        }
    }

    fn params(text: &str) -> CreateMessageRequestParams {
        let message = json!({"role": "user", "content": {"type": "text", "text": text}});
        serde_json::from_value(json!({"messages": [message], "maxTokens": 5})).unwrap()
    }

    async fn asked(gate: &SamplingGate, text: &str) -> Result<String, String> {
        let result = gate.answer(params(text)).await?;
        Ok(serde_json::to_value(result).unwrap().to_string())
    }

    #[tokio::test]
    async fn nobody_is_asked_without_a_call() {
        let (gate, calls) = gate(config());
        let refused = asked(&gate, "a").await.unwrap_err();
        assert!(refused.contains("only while a tool"), "{refused}");
        let _call = calls.begin(Some("s1"));
        assert!(asked(&gate, "a").await.unwrap().contains("s1: a"));
    }

    #[tokio::test]
    async fn requests_of_a_minute_are_counted() {
        let (gate, calls) = gate(SamplingConfig {
            requests_a_minute: 2,
            ..config()
        });
        let _call = calls.begin(None);
        assert!(asked(&gate, "a").await.is_ok() && asked(&gate, "a").await.is_ok());
        let refused = asked(&gate, "a").await.unwrap_err();
        assert!(refused.contains("at most 2 a minute"), "{refused}");
        assert!(gate.is_within_rate(Instant::now() + MINUTE));
    }

    #[tokio::test]
    async fn rounds_of_tools_end() {
        let (gate, calls) = gate(config());
        let _call = calls.begin(None);
        for _ in 0..2 {
            assert!(asked(&gate, "call").await.unwrap().contains("toolUse"));
        }
        let refused = asked(&gate, "call").await.unwrap_err();
        assert!(refused.contains("more than 2 times"), "{refused}");
        assert!(asked(&gate, "call").await.is_ok());
    }

    #[tokio::test]
    async fn a_model_that_does_not_answer_is_given_up_with_time_or_call() {
        let (slow, calls) = gate(SamplingConfig {
            timeout: Duration::from_millis(20),
            ..config()
        });
        let call = calls.begin(None);
        let late = asked(&slow, "wait").await.unwrap_err();
        assert!(late.contains("did not answer within"), "{late}");
        drop(call);
        let (gate, calls) = gate(config());
        let call = calls.begin(None);
        let (ended, ()) = tokio::join!(asked(&gate, "wait"), async {
            tokio::task::yield_now().await;
            drop(call);
        });
        assert!(ended.unwrap_err().contains("has ended"));
    }
}
