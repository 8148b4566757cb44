//! Asking one route once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hermes_proc::Wake;
use hermes_secret::SecretString;
use serde_json::{Value, json};

use super::read::{Reader, Reading};
use crate::adaptations::Adaptations;
use crate::classify::{Size, is_about_effort, is_about_streaming};
use crate::context::{WindowCache, fetch_window};
use crate::error::{ErrorClass, Failure, ProviderError};
use crate::http::{HttpRequest, Method, Transport};
use crate::provider::RouteInfo;
use crate::request::Request;
use crate::response::{Cost, Finish, Response, StreamEvent};
use crate::route::{ApiMode, Route, is_host};
use crate::wire::Decoder;
use crate::wire::anthropic::{self, AnthropicDecoder};
use crate::wire::chat::{self, ChatDecoder};
use crate::wire::responses::{self, ResponsesDecoder};

/// How long a server may take to describe its models.
const METADATA_LIMIT: Duration = Duration::from_secs(10);

/// The window of accounts without the long one.
const SHORT_TIER: u64 = 200_000;

/// A route with its connection.
pub(crate) struct Endpoint {
    route: Route,
    transport: Arc<Transport>,
    adaptations: Mutex<Adaptations>,
    /// Size of the window in tokens.
    window: AtomicU64,
    /// The window that Ollama has to be told; zero for other servers.
    told_window: AtomicU64,
}

impl Endpoint {
    /// A route that can be asked; `window` is the size of the model's context.
    pub(crate) fn new(route: Route, transport: Arc<Transport>, window: u64) -> Self {
        Self {
            route,
            transport,
            adaptations: Mutex::default(),
            window: AtomicU64::new(window),
            told_window: AtomicU64::new(0),
        }
    }

    /// The same, asked for whole answers.
    pub(crate) fn without_streaming(self) -> Self {
        self.lock().no_stream = true;
        self
    }

    /// Where it leads.
    pub(crate) fn route(&self) -> &Route {
        &self.route
    }

    /// The same for others.
    pub(crate) fn info(&self) -> RouteInfo {
        RouteInfo {
            provider: self.route.provider.clone(),
            model: self.route.model.clone(),
            base_url: self.route.base_url.clone(),
            context_length: self.window(),
            max_tokens: self.route.max_tokens,
            takes_images: !self.lock().no_images,
        }
    }

    /// Size of the window in tokens.
    pub(crate) fn window(&self) -> u64 {
        self.window.load(Ordering::Relaxed)
    }

    /// Another size counts from now on.
    pub(crate) fn set_window(&self, tokens: u64) {
        self.window.store(tokens, Ordering::Relaxed);
    }

    /// Asks the server for the size of the window, and remembers it.
    pub(crate) fn learn_window(&self, key: Option<&SecretString>, cache: &WindowCache) {
        let stated = fetch_window(&self.transport, &self.route, key, METADATA_LIMIT);
        if let Some(stated) = stated {
            if stated.is_ollama {
                self.told_window.store(stated.window, Ordering::Relaxed);
            } else {
                cache.put(&self.route.model, &self.route.base_url, stated.window);
            }
            self.set_window(stated.window);
        }
    }

    /// Forgets connections.
    pub(crate) fn reconnect(&self) {
        self.transport.reset();
    }

    /// Asks once. A stream that breaks before it said anything is taken up again without a word.
    pub(crate) fn ask(
        &self,
        request: &Request,
        key: Option<&SecretString>,
        sink: &mut dyn FnMut(StreamEvent),
        interrupt: &Wake,
    ) -> Result<Response, ProviderError> {
        let adaptations = *self.lock();
        let size = Size {
            tokens: request.estimated_tokens(),
            messages: request.messages.len(),
            window: self.window(),
        };
        let body = Bytes::from(self.encode(request, adaptations).to_string());
        let deadline = Instant::now() + self.route.timeouts.request;
        let mut reconnects = 0;
        loop {
            let mut decoder = self.decoder();
            let mut has_streamed = false;
            let outcome = Reader {
                exchange: self.send(&body, key, adaptations)?,
                decoder: &mut *decoder,
                sink: &mut |event| {
                    has_streamed = true;
                    sink(event);
                },
                interrupt,
                timeouts: &self.route.timeouts,
                size,
                streaming: !adaptations.no_stream,
                deadline,
            }
            .read();
            let (reason, had_begun) = match outcome {
                Ok(Reading::Complete) => return complete(decoder).map(|whole| self.priced(whole)),
                Ok(Reading::Broken { reason, had_begun }) => (reason, had_begun),
                // An error in the midst of an answer is a broken answer.
                Err(error) if decoder.collected().has_anything() && error.class.is_retryable() => {
                    (error.message.clone(), true)
                }
                Err(error) => {
                    if has_streamed {
                        sink(StreamEvent::Restart);
                    }
                    return Err(error);
                }
            };
            let calls = decoder.collected().calls_begun();
            if decoder.collected().has_text() && calls.is_empty() {
                return Ok(self.priced(cut(decoder)));
            }
            let refused = !had_begun && reason.starts_with("no connection");
            if refused || reconnects >= self.route.timeouts.reconnects {
                if !calls.is_empty() {
                    return Ok(self.priced(cut(decoder)));
                }
                if has_streamed {
                    sink(StreamEvent::Restart);
                }
                return Err(self.disconnected(reason, had_begun, size));
            }
            reconnects += 1;
            if has_streamed {
                sink(StreamEvent::Restart);
            }
            tracing::info!(
                "the stream of {} broke, once more: {reason}",
                self.route.provider
            );
        }
    }

    /// Learns from a refusal; says whether the same request is worth another try. Each lesson is
    /// learnt once.
    pub(crate) fn learn(&self, failure: &Failure) -> bool {
        let mut adaptations = self.lock();
        let before = *adaptations;
        match failure.class {
            ErrorClass::ImagesRejected => adaptations.no_images = true,
            ErrorClass::ImageTooLarge => adaptations.small_images = true,
            ErrorClass::LongContextTier => {
                self.set_window(self.window().min(SHORT_TIER));
            }
            ErrorClass::MultimodalToolContent => adaptations.no_tool_images = true,
            ErrorClass::ThinkingSignature | ErrorClass::InvalidEncryptedContent => {
                adaptations.no_replay = true;
            }
            ErrorClass::Grammar => adaptations.plain_schemas = true,
            _ if is_about_streaming(failure) => adaptations.no_stream = true,
            _ if is_about_effort(failure) => adaptations.no_effort = true,
            _ => {}
        }
        *adaptations != before
    }

    /// A server of one's own charges nothing, unless it says so.
    fn priced(&self, mut response: Response) -> Response {
        if response.cost == Cost::Unknown && self.route.is_local() {
            response.cost = Cost::Included;
        }
        response
    }

    fn encode(&self, request: &Request, adaptations: Adaptations) -> Value {
        match self.route.mode {
            ApiMode::Chat => {
                let mut body = chat::encode(&self.route, request, adaptations);
                let told = self.told_window.load(Ordering::Relaxed);
                if told > 0 && body.get("options").is_none() {
                    body["options"] = json!({"num_ctx": told});
                }
                body
            }
            ApiMode::Responses => responses::encode(&self.route, request, adaptations),
            ApiMode::Anthropic => {
                anthropic::encode(&self.route, request, adaptations, self.window())
            }
        }
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        match self.route.mode {
            ApiMode::Chat => Box::<ChatDecoder>::default(),
            ApiMode::Responses => Box::<ResponsesDecoder>::default(),
            ApiMode::Anthropic => Box::<AnthropicDecoder>::default(),
        }
    }

    fn send(
        &self,
        body: &Bytes,
        key: Option<&SecretString>,
        adaptations: Adaptations,
    ) -> Result<crate::http::Exchange, ProviderError> {
        let accept = if adaptations.no_stream {
            "application/json"
        } else {
            "text/event-stream"
        };
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", accept.to_owned()),
        ];
        headers.extend(self.key_headers(key));
        headers.extend(self.route.headers.iter().cloned());
        let request = HttpRequest {
            method: Method::POST,
            url: self.route.endpoint(),
            headers,
            body: body.clone(),
        };
        self.transport
            .send(request)
            .map_err(|reason| ProviderError::new(ErrorClass::FormatError, reason))
    }

    /// The headers that carry the key. A route without one says so in words, as local servers expect.
    fn key_headers(&self, key: Option<&SecretString>) -> Vec<(&'static str, String)> {
        let key = key.map_or("no-key-required", SecretString::expose);
        let bearer = ("authorization", format!("Bearer {key}"));
        match self.route.mode {
            ApiMode::Chat | ApiMode::Responses => vec![bearer],
            ApiMode::Anthropic => {
                let wants_bearer = self.route.provider.starts_with("minimax")
                    || is_host(&self.route.host, "minimax.io")
                    || is_host(&self.route.host, "minimaxi.com");
                let mut headers = vec![
                    if wants_bearer {
                        bearer
                    } else {
                        ("x-api-key", key.to_owned())
                    },
                    ("anthropic-version", "2023-06-01".to_owned()),
                ];
                if is_host(&self.route.host, "api.anthropic.com") {
                    headers.push(("anthropic-beta", anthropic::BETAS.to_owned()));
                }
                headers
            }
        }
    }

    fn disconnected(&self, reason: String, had_begun: bool, size: Size) -> ProviderError {
        let silent = had_begun || !reason.starts_with("no connection");
        if silent && !self.route.is_local() && size.explains_a_disconnect() {
            return ProviderError::new(
                ErrorClass::ContextOverflow,
                format!("{reason}; the conversation is probably too long"),
            );
        }
        ProviderError::new(ErrorClass::Timeout, reason)
    }

    fn lock(&self) -> MutexGuard<'_, Adaptations> {
        self.adaptations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn complete(decoder: Box<dyn Decoder>) -> Result<Response, ProviderError> {
    decoder.finish().ok_or_else(|| {
        ProviderError::new(
            ErrorClass::Malformed,
            "the answer holds nothing a model says",
        )
    })
}

/// What came before the connection broke for good.
fn cut(decoder: Box<dyn Decoder>) -> Response {
    let lost_calls = decoder.collected().calls_begun();
    let response = decoder
        .finish()
        .unwrap_or_else(|| Response::new(Finish::Cut));
    Response {
        tool_calls: Vec::new(),
        finish: Finish::Cut,
        lost_calls,
        ..response
    }
}
