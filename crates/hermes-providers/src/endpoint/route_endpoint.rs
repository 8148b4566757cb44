//! Sends one request over one route.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hermes_proc::Wake;
use hermes_secret::SecretString;
use serde_json::json;

use super::answer_reader::{AnswerReader, ReadOutcome};
use super::dump::RequestDump;
use crate::byte_budget::ByteBudget;
use crate::classify::{RequestSize, is_about_effort, is_about_streaming};
use crate::context::{ModelServer, StatedWindow, WindowCache};
use crate::error::{ErrorClass, ProviderError, ProviderFailure};
use crate::http::{HttpRequest, Method, Transport};
use crate::provider::RouteInfo;
use crate::request::ModelRequest;
use crate::response::{Cost, FinishReason, ModelResponse, StreamEvent};
use crate::route::{ApiMode, Route, is_host, turn_headers};
use crate::server_limits::ServerLimits;
use crate::small_image::SmallImages;
use crate::wire::{ANTHROPIC_BETAS, CollectedAnswer, encode};

/// Timeout for the list of models.
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);

/// The context window of accounts without the long-context tier.
const STANDARD_WINDOW: u64 = 200_000;

/// A route with its connection.
pub(crate) struct Endpoint {
    pub(crate) route: Route,
    transport: Arc<Transport>,
    limits: Mutex<ServerLimits>,
    small_images: SmallImages,
    window: AtomicU64,
    /// The window to send to Ollama; zero for other servers.
    ollama_window: AtomicU64,
    dump: Option<Arc<RequestDump>>,
}

impl Endpoint {
    /// An endpoint for a route with this context window, with request dumps if enabled.
    pub(crate) fn new(
        route: Route,
        transport: Arc<Transport>,
        stated: StatedWindow,
        dump: Option<Arc<RequestDump>>,
    ) -> Self {
        Self {
            route,
            transport,
            limits: Mutex::default(),
            small_images: SmallImages::default(),
            window: AtomicU64::new(stated.window),
            ollama_window: AtomicU64::new(if stated.is_ollama { stated.window } else { 0 }),
            dump,
        }
    }

    /// Never streams from now on, unless the server does nothing else.
    pub(crate) fn stop_streaming(&self) {
        self.lock().no_stream = self.route.provider != "openai-codex";
    }

    /// The route for callers.
    pub(crate) fn info(&self) -> RouteInfo {
        RouteInfo {
            provider: self.route.provider.clone(),
            model: self.route.model.clone(),
            base_url: self.route.base_url.clone(),
            context_length: self.window(),
            max_tokens: self.route.max_tokens,
            takes_images: !self.lock().no_images,
            is_responses: self.route.mode == ApiMode::Responses,
            service_tier: self.route.extra_body.get("service_tier").and_then(|tier| {
                let tier = tier.as_str()?;
                Some(tier.to_owned())
            }),
        }
    }

    pub(crate) fn window(&self) -> u64 {
        self.window.load(Ordering::Relaxed)
    }

    pub(crate) fn set_window(&self, tokens: u64) {
        self.window.store(tokens, Ordering::Relaxed);
        if self.is_ollama() {
            self.ollama_window.store(tokens, Ordering::Relaxed);
        }
    }

    /// Whether the server is Ollama, which has to be told the window.
    pub(crate) fn is_ollama(&self) -> bool {
        self.ollama_window.load(Ordering::Relaxed) > 0
    }

    /// Asks the server for the context window and remembers it.
    pub(crate) fn learn_window(&self, key: Option<&SecretString>, cache: &WindowCache) {
        let server = ModelServer {
            transport: &self.transport,
            route: &self.route,
            key,
            timeout: METADATA_TIMEOUT,
        };
        if let Some(stated) = server.window() {
            if stated.is_ollama {
                self.ollama_window.store(stated.window, Ordering::Relaxed);
            }
            cache.put(&self.route.model, &self.route.base_url, stated);
            self.set_window(stated.window);
        }
    }

    /// Drops open connections.
    pub(crate) fn reconnect(&self) {
        self.transport.reset();
    }

    /// The text of a request. What it was made of takes several times as much memory, and is gone
    /// before the wait for the answer begins.
    fn body(
        &self,
        request: &ModelRequest,
        key: Option<&SecretString>,
        limits: ServerLimits,
    ) -> Bytes {
        let mut body = encode(&self.route, request, limits, self.window());
        let ollama_window = self.ollama_window.load(Ordering::Relaxed);
        if self.route.mode == ApiMode::Chat && ollama_window > 0 && body.get("options").is_none() {
            body["options"] = json!({"num_ctx": ollama_window});
        }
        if let Some(dump) = &self.dump {
            dump.dump(&self.route, request.session_id.as_deref(), &body, key);
        }
        Bytes::from(body.to_string())
    }

    /// Sends one request. A stream that breaks before any content is restarted silently.
    pub(crate) fn ask(
        &self,
        request: &ModelRequest,
        key: Option<&SecretString>,
        budget: &ByteBudget,
        sink: &mut dyn FnMut(StreamEvent),
        interrupt: &Wake,
    ) -> Result<ModelResponse, ProviderError> {
        let limits = *self.lock();
        let size = RequestSize {
            tokens: request.estimated_tokens(),
            messages: request.messages.len(),
            window: self.window(),
        };
        let shrunk;
        let request = if limits.small_images {
            shrunk = self.small_images.in_request(request);
            &shrunk
        } else {
            request
        };
        let body = self.body(request, key, limits);
        let turn = match self.route.provider.as_str() {
            "copilot" => turn_headers(request),
            _ => Vec::new(),
        };
        let deadline = Instant::now() + self.route.timeouts.request;
        let mut reconnects = 0;
        loop {
            let mut answer = CollectedAnswer::default();
            let mut has_streamed = false;
            let outcome = AnswerReader {
                exchange: self.send(&body, key, limits, &turn)?,
                mode: self.route.mode,
                answer: &mut answer,
                sink: &mut |event| {
                    has_streamed = true;
                    sink(event);
                },
                interrupt,
                timeouts: &self.route.timeouts,
                size,
                streaming: !limits.no_stream,
                deadline,
                budget,
            }
            .read();
            let (reason, had_begun) = match outcome {
                Ok(ReadOutcome::Complete) => {
                    let empty = "the answer contains neither text nor tool calls";
                    let whole = answer.into_response();
                    return whole
                        .map(|whole| self.with_cost(whole))
                        .ok_or_else(|| ProviderError::new(ErrorClass::Malformed, empty));
                }
                Ok(ReadOutcome::Broken { reason, had_begun }) => (reason, had_begun),
                // A transient error inside an answer counts as a broken stream.
                Err(error) if answer.has_anything() && error.class.is_retryable() => {
                    (error.message.clone(), true)
                }
                Err(error) => {
                    // What arrived before an interruption is kept.
                    if has_streamed && error.class != ErrorClass::Interrupted {
                        sink(StreamEvent::Restart);
                    }
                    return Err(error);
                }
            };
            let refused = !had_begun && reason.starts_with("no connection");
            let last = refused || reconnects >= self.route.timeouts.reconnects;
            let lost_calls = answer.calls_begun();
            let worth_keeping = if lost_calls.is_empty() {
                answer.has_text()
            } else {
                last
            };
            if worth_keeping {
                // The part of the answer that arrived before the connection broke.
                let response = answer.into_response();
                return Ok(self.with_cost(ModelResponse {
                    tool_calls: Vec::new(),
                    finish: FinishReason::Truncated,
                    lost_calls,
                    ..response.unwrap_or_else(|| ModelResponse::new(FinishReason::Truncated))
                }));
            }
            if has_streamed {
                sink(StreamEvent::Restart);
            }
            if last {
                return Err(self.disconnected(reason, had_begun, size));
            }
            reconnects += 1;
            tracing::info!(
                "the stream of {} broke, reconnecting: {reason}",
                self.route.provider
            );
        }
    }

    /// Learns a server limit from a refusal and returns whether a retry may succeed. Each limit is
    /// learnt once.
    pub(crate) fn learn(&self, failure: &ProviderFailure) -> bool {
        let mut limits = self.lock();
        let before = *limits;
        match failure.class {
            ErrorClass::ImagesRejected => limits.no_images = true,
            ErrorClass::ImageTooLarge => limits.small_images = true,
            ErrorClass::LongContextTier => {
                self.set_window(self.window().min(STANDARD_WINDOW));
            }
            ErrorClass::MultimodalToolContent => limits.no_tool_images = true,
            ErrorClass::ThinkingSignature | ErrorClass::InvalidEncryptedContent => {
                limits.no_replay = true;
            }
            ErrorClass::Grammar => limits.plain_schemas = true,
            _ if is_about_streaming(failure) => limits.no_stream = true,
            _ if is_about_effort(failure) => limits.no_effort = true,
            _ => {}
        }
        *limits != before
    }

    /// A local server charges nothing, unless it states a cost.
    fn with_cost(&self, mut response: ModelResponse) -> ModelResponse {
        if response.cost == Cost::Unknown && self.route.is_local() {
            response.cost = Cost::Included;
        }
        response
    }

    fn send(
        &self,
        body: &Bytes,
        key: Option<&SecretString>,
        limits: ServerLimits,
        turn: &[(&'static str, String)],
    ) -> Result<crate::http::Exchange, ProviderError> {
        let accept = if limits.no_stream {
            "application/json"
        } else {
            "text/event-stream"
        };
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", accept.to_owned()),
        ];
        headers.extend(self.key_headers(key));
        headers.extend(self.route.headers.iter().chain(turn).cloned());
        let request = HttpRequest {
            method: Method::POST,
            url: self.route.endpoint(key),
            headers,
            body: body.clone(),
        };
        self.transport
            .send(request)
            .map_err(|reason| ProviderError::new(ErrorClass::FormatError, reason))
    }

    /// The headers with the key. Without a key they contain a placeholder, as local servers expect.
    fn key_headers(&self, key: Option<&SecretString>) -> Vec<(&'static str, String)> {
        let key = key.map_or("no-key-required", SecretString::expose);
        let mut headers = self.route.key_headers(key);
        if self.route.mode == ApiMode::Anthropic && is_host(&self.route.host, "api.anthropic.com") {
            headers.push(("anthropic-beta", ANTHROPIC_BETAS.to_owned()));
        }
        headers
    }

    fn disconnected(&self, reason: String, had_begun: bool, size: RequestSize) -> ProviderError {
        let silent = had_begun || !reason.starts_with("no connection");
        if silent && !self.route.is_local() && size.explains_a_disconnect() {
            return ProviderError::new(
                ErrorClass::ContextOverflow,
                format!("{reason}; the conversation is probably too long"),
            );
        }
        ProviderError::new(ErrorClass::Timeout, reason)
    }

    fn lock(&self) -> MutexGuard<'_, ServerLimits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
