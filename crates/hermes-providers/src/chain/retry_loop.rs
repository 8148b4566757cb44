//! Several routes as one provider: retries, key rotation and fallback.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hermes_proc::Wake;
use hermes_secret::Redactor;

use super::retry_decision::{AttemptState, RetryDecision, decide};
use crate::byte_budget::ByteBudget;
use crate::context::{StatedWindow, WindowCache};
use crate::endpoint::Endpoint;
use crate::error::{ErrorClass, ProviderError, ProviderFailure};
use crate::pool::{KeyRing, Lease};
use crate::provider::{Provider, RouteInfo};
use crate::request::ModelRequest;
use crate::response::{ModelResponse, StreamEvent};

/// How long after a rate limit new turns avoid the first route.
const COOL_DOWN: Duration = Duration::from_mins(1);

/// One route of a chain.
pub(crate) struct ChainRoute {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) keys: Arc<KeyRing>,
    /// Whether the context window is a guess; the server is then asked, once.
    pub(crate) window_is_guessed: bool,
}

impl ChainRoute {
    /// Asks the server for the context window, in parallel to the first request.
    fn fetch_window(&self, lease: Option<&Lease>, cache: &WindowCache) {
        let endpoint = Arc::clone(&self.endpoint);
        let secret = lease.map(|lease| lease.secret.clone());
        let cache = cache.clone();
        let started = std::thread::Builder::new()
            .name("hermes-window".to_owned())
            .spawn(move || endpoint.learn_window(secret.as_ref(), &cache));
        if let Err(error) = started {
            tracing::warn!("could not ask for the context window of the model: {error}");
        }
    }
}

/// Several routes as one provider, for one conversation.
pub(crate) struct Chain {
    shared: Arc<SharedRoutes>,
    fallback: FallbackPolicy,
    state: Mutex<ChainState>,
    /// Of the current turn.
    budget: ByteBudget,
}

/// State shared by all conversations over the same routes.
struct SharedRoutes {
    /// Never empty, in order of preference.
    routes: Vec<ChainRoute>,
    max_attempts: u32,
    redactor: Redactor,
    windows: WindowCache,
    window_requested: AtomicBool,
}

/// When the next route is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FallbackPolicy {
    Always,
    /// For auxiliary tasks: only when an account has no credit, and without attempts beyond the
    /// counted ones. Content of a conversation does not go to another company because of a temporary
    /// error.
    BillingOnly,
}

#[derive(Debug, Default)]
struct ChainState {
    active: usize,
    /// The route where turns begin: the first, or the active route of the parent conversation.
    home: usize,
    home_limited: Option<Instant>,
}

/// Attempts made for one request.
#[derive(Default)]
struct RequestProgress {
    total: u32,
    attempt: u32,
    rate_limited: u32,
    reconnected: bool,
    history: Vec<String>,
    /// A new token was asked for.
    renewed: bool,
}

impl Chain {
    /// A chain of these routes; `max_attempts` is at least 1.
    pub(crate) fn new(
        routes: Vec<ChainRoute>,
        max_attempts: u32,
        windows: WindowCache,
        fallback: FallbackPolicy,
    ) -> Self {
        let secrets = routes.iter().flat_map(|route| route.keys.secrets());
        let shared = SharedRoutes {
            redactor: Redactor::new(secrets),
            routes,
            max_attempts,
            windows,
            window_requested: AtomicBool::new(false),
        };
        Self {
            shared: Arc::new(shared),
            fallback,
            state: Mutex::default(),
            budget: ByteBudget::default(),
        }
    }

    fn may_leave(&self, failure: &ProviderFailure) -> bool {
        match self.fallback {
            FallbackPolicy::Always => true,
            FallbackPolicy::BillingOnly => failure.class == ErrorClass::Billing,
        }
    }

    /// The active route and its position.
    fn active(&self) -> Option<(usize, &ChainRoute)> {
        let at = self.lock().active;
        self.shared.routes.get(at).map(|route| (at, route))
    }

    /// Switches to the next route, unless `from` is the last.
    fn switch(
        &self,
        from: usize,
        provider: &str,
        why: &str,
        is_limited: bool,
        sink: &mut dyn FnMut(StreamEvent),
    ) -> bool {
        let Some(next) = self.shared.routes.get(from + 1) else {
            return false;
        };
        let mut state = self.lock();
        if from == state.home && is_limited {
            state.home_limited = Some(Instant::now());
        }
        state.active = from + 1;
        drop(state);
        let route = &next.endpoint.route;
        let line = format!(
            "{provider} {why}; switching to {} with {}",
            route.provider, route.model
        );
        tracing::warn!("{line}");
        sink(StreamEvent::Switched(line));
        true
    }

    /// The error for callers: with its route and without secrets.
    fn with_route(&self, mut error: ProviderError, route: &ChainRoute) -> ProviderError {
        let route = &route.endpoint.route;
        error.provider.clone_from(&route.provider);
        error.model.clone_from(&route.model);
        if error.class == ErrorClass::Timeout {
            error.address = address(&route.base_url);
        }
        error.message = self.shared.redactor.redact(&error.message).into_owned();
        error
    }

    fn lock(&self) -> MutexGuard<'_, ChainState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestProgress {
    fn ended(self, mut error: ProviderError) -> ProviderError {
        error.attempts = self.total.max(1);
        error.history = self.history;
        error
    }
}

impl Provider for Chain {
    fn complete(
        &self,
        request: &ModelRequest,
        sink: &mut dyn FnMut(StreamEvent),
        interrupt: &Wake,
    ) -> Result<ModelResponse, ProviderError> {
        let mut progress = RequestProgress::default();
        if self.fallback == FallbackPolicy::BillingOnly {
            // A side task is a turn of its own.
            self.budget.reset();
        }
        loop {
            let Some((at, route)) = self.active() else {
                let message = "the chain of providers is empty";
                return Err(ProviderError::new(ErrorClass::Unknown, message));
            };
            let lease = route.keys.lease();
            if lease.is_none() && route.keys.len() > 0 {
                let message = format!("all {} keys are exhausted for now", route.keys.len());
                let error = ProviderError::new(ErrorClass::RateLimit, message);
                match self.leave(&mut progress, self.with_route(error, route), at, sink) {
                    None => continue,
                    Some(error) => return Err(progress.ended(error)),
                }
            }
            progress.total += 1;
            progress.attempt += 1;
            // Only one such request per process, to the first route.
            let requested = self.shared.window_requested.swap(true, Ordering::Relaxed);
            if !requested && route.window_is_guessed {
                route.fetch_window(lease.as_ref(), &self.shared.windows);
            }
            let secret = lease.as_ref().map(|lease| &lease.secret);
            let ended = lease.as_ref().and_then(|lease| lease.ended.as_deref());
            let asked = match ended {
                Some(reason) => Err(login_ended(&route.endpoint.route.provider, reason)),
                None => {
                    let endpoint = &route.endpoint;
                    endpoint.ask(request, secret, &self.budget, sink, interrupt)
                }
            };
            let error = match asked {
                Ok(response) => return Ok(response),
                Err(error) => self.with_route(error, route),
            };
            if error.class != ErrorClass::Interrupted && route.endpoint.learn(&error) {
                tracing::info!("{error}; the request is adapted and sent again");
                if let Some(line) = limit_notice(&error) {
                    sink(StreamEvent::Switched(line));
                }
                progress.attempt -= 1;
                continue;
            }
            progress.history.push(error.to_string());
            if let Some(end) = self.react(&mut progress, error, (at, route), lease, sink, interrupt)
            {
                return Err(progress.ended(end));
            }
        }
    }

    fn route(&self) -> RouteInfo {
        self.active()
            .map_or_else(RouteInfo::default, |(_, route)| route.endpoint.info())
    }

    fn begin_turn(&self) {
        self.budget.reset();
        let mut state = self.lock();
        let cooling = state
            .home_limited
            .is_some_and(|since| since.elapsed() < COOL_DOWN);
        if !cooling {
            state.active = state.home;
            state.home_limited = None;
        }
    }

    fn give_up_on_route(&self, why: &str, sink: &mut dyn FnMut(StreamEvent)) -> bool {
        let Some((at, route)) = self.active() else {
            return false;
        };
        if self.fallback == FallbackPolicy::BillingOnly {
            return false;
        }
        self.switch(at, &route.endpoint.route.provider, why, false, sink)
    }

    fn branch(&self) -> Option<Arc<dyn Provider>> {
        let active = self.lock().active;
        Some(Arc::new(Self {
            shared: Arc::clone(&self.shared),
            fallback: self.fallback,
            state: Mutex::new(ChainState {
                active,
                home: active,
                home_limited: None,
            }),
            budget: ByteBudget::default(),
        }))
    }

    fn adopt_context_length(&self, tokens: u64) {
        if let Some((_, active)) = self.active() {
            let route = &active.endpoint.route;
            active.endpoint.set_window(tokens);
            let stated = StatedWindow {
                window: tokens,
                is_ollama: active.endpoint.is_ollama(),
            };
            self.shared
                .windows
                .put(&route.model, &route.base_url, stated);
        }
    }
}

impl Chain {
    /// Handles a failed attempt. Returns the final error if the request has failed.
    fn react(
        &self,
        progress: &mut RequestProgress,
        error: ProviderError,
        (at, route): (usize, &ChainRoute),
        lease: Option<Lease>,
        sink: &mut dyn FnMut(StreamEvent),
        interrupt: &Wake,
    ) -> Option<ProviderError> {
        if error.class == ErrorClass::RateLimit {
            progress.rate_limited += 1;
        }
        let mut lease = lease;
        let mut error = error;
        // A login may have ended before its time; a new token is asked for once.
        if error.status == Some(401)
            && !std::mem::replace(&mut progress.renewed, true)
            && let Some(lease) = &mut lease
        {
            if lease.renew() {
                return None;
            }
            if let Some(reason) = &lease.ended {
                let ended = login_ended(&error.provider, reason);
                error = self.with_route(ended, route);
            }
        }
        let state = AttemptState {
            attempt: progress.attempt,
            max_attempts: self.shared.max_attempts,
            keys: route.keys.len(),
            rate_limited: progress.rate_limited,
            has_fallback: at + 1 < self.shared.routes.len() && self.may_leave(&error),
            reconnected: progress.reconnected || self.fallback == FallbackPolicy::BillingOnly,
        };
        let decision = decide(&error, state, SystemTime::now());
        match decision {
            RetryDecision::Wait(pause) | RetryDecision::Reconnect(pause) => {
                sink(StreamEvent::Waiting {
                    seconds: pause.as_secs_f64(),
                    reason: error.to_string(),
                });
                if let RetryDecision::Reconnect(_) = decision {
                    progress.reconnected = true;
                    route.endpoint.reconnect();
                }
                drop(lease);
                if interrupt.wait(pause) {
                    return Some(self.with_route(ProviderError::interrupted(), route));
                }
                None
            }
            RetryDecision::Rotate => {
                let another = lease.as_ref().is_some_and(|lease| lease.exhaust(&error));
                if another && route.keys.len() > 1 {
                    let label = lease.map(|lease| lease.label.clone()).unwrap_or_default();
                    sink(StreamEvent::Switched(format!(
                        "the key `{label}` of {} is exhausted ({}); switching to another key",
                        error.provider,
                        error.class.name()
                    )));
                    // The next key starts with fresh attempts.
                    progress.attempt = 0;
                    progress.rate_limited = 0;
                    return None;
                }
                self.leave(progress, error, at, sink)
            }
            RetryDecision::Fallback => self.leave(progress, error, at, sink),
            RetryDecision::GiveUp => Some(error),
        }
    }

    /// Continues on the next route; returns the error if there is none to continue on.
    fn leave(
        &self,
        progress: &mut RequestProgress,
        error: ProviderError,
        at: usize,
        sink: &mut dyn FnMut(StreamEvent),
    ) -> Option<ProviderError> {
        let why = format!("failed ({})", error.class.name());
        let is_limited = error.class == ErrorClass::RateLimit;
        if self.may_leave(&error) && self.switch(at, &error.provider, &why, is_limited, sink) {
            progress.attempt = 0;
            progress.rate_limited = 0;
            progress.reconnected = false;
            return None;
        }
        Some(error)
    }
}

/// The error for a login that cannot be renewed any more.
fn login_ended(provider: &str, reason: &str) -> ProviderError {
    let mut failure = ProviderFailure::new(
        ErrorClass::Auth,
        format!("the login at {provider} has expired or was revoked: {reason}"),
    );
    failure.is_ended_login = true;
    ProviderError::from(failure)
}

/// Scheme, host and port of an address.
fn address(base_url: &str) -> Option<String> {
    let origin = reqwest::Url::parse(base_url).ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization())
}

/// A notice for the user about a server limit; `None` if nothing is lost.
fn limit_notice(failure: &ProviderFailure) -> Option<String> {
    let what = match failure.class {
        ErrorClass::ImagesRejected => {
            "does not accept images; the conversation continues without them"
        }
        ErrorClass::ImageTooLarge => {
            "does not accept images this large; images above 4 MiB are omitted"
        }
        ErrorClass::MultimodalToolContent => {
            "does not accept images in tool results; they are omitted"
        }
        _ => return None,
    };
    Some(format!(
        "{} with {} {what}",
        failure.provider, failure.model
    ))
}
