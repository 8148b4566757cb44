//! Routes in order, and the request that travels along them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hermes_proc::Wake;
use hermes_secret::Redactor;

use super::decide::{Standing, Step, step};
use crate::context::{Stated, WindowCache};
use crate::endpoint::Endpoint;
use crate::error::{ErrorClass, Failure, ProviderError};
use crate::pool::{KeyRing, Lease};
use crate::provider::{Provider, RouteInfo};
use crate::request::Request;
use crate::response::{Response, StreamEvent};

/// For how long after a rate limit of the first route a new turn does not go back to it.
const COOL_DOWN: Duration = Duration::from_mins(1);

/// One route of a chain.
pub(crate) struct Leg {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) keys: Arc<KeyRing>,
    /// The size of its window is a guess: the server is asked, once.
    pub(crate) window_is_guessed: bool,
}

impl Leg {
    /// Asks for the size of the window, beside the question that is about to be asked.
    fn learn_window(&self, lease: Option<&Lease>, cache: &WindowCache) {
        let endpoint = Arc::clone(&self.endpoint);
        let secret = lease.and_then(|lease| lease.secret.clone());
        let cache = cache.clone();
        let started = std::thread::Builder::new()
            .name("hermes-window".to_owned())
            .spawn(move || endpoint.learn_window(secret.as_ref(), &cache));
        if let Err(error) = started {
            tracing::warn!("the window of the model stays a guess: {error}");
        }
    }
}

/// Several routes as one provider, for one conversation.
pub(crate) struct Chain {
    routes: Arc<Routes>,
    moves_on: MovesOn,
    state: Mutex<State>,
}

/// What all conversations along the same routes share.
struct Routes {
    /// Never empty; the first is the first choice.
    legs: Vec<Leg>,
    most_attempts: u32,
    redactor: Redactor,
    windows: WindowCache,
    window_was_asked_for: AtomicBool,
}

/// When the next route is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MovesOn {
    /// Whenever another provider may do better.
    Always,
    /// When an account is empty. What belongs to a conversation does not go to another company only
    /// because a server hiccups.
    WhenUnpaid,
}

#[derive(Debug, Default)]
struct State {
    active: usize,
    /// Where a turn begins: the first choice, or where the conversation came from was.
    home: usize,
    home_limited: Option<Instant>,
}

/// One request on its way.
#[derive(Default)]
struct Journey {
    total: u32,
    attempt: u32,
    slowed: u32,
    reconnected: bool,
    history: Vec<String>,
}

impl Chain {
    /// A chain of these routes.
    pub(crate) fn new(legs: Vec<Leg>, most_attempts: u32, windows: WindowCache) -> Self {
        let secrets = legs.iter().flat_map(|leg| leg.keys.secrets());
        let routes = Routes {
            redactor: Redactor::new(secrets),
            legs,
            most_attempts: most_attempts.max(1),
            windows,
            window_was_asked_for: AtomicBool::new(false),
        };
        Self {
            routes: Arc::new(routes),
            moves_on: MovesOn::Always,
            state: Mutex::default(),
        }
    }

    /// The same for side tasks: another route only where an account is empty, and no try beyond
    /// those that are counted.
    pub(crate) fn for_side_tasks(mut self) -> Self {
        self.moves_on = MovesOn::WhenUnpaid;
        self
    }

    /// Whether a failure is a reason to leave a route.
    fn may_leave(&self, failure: &Failure) -> bool {
        match self.moves_on {
            MovesOn::Always => true,
            MovesOn::WhenUnpaid => failure.class == ErrorClass::Billing,
        }
    }

    /// The active route and its place.
    fn active(&self) -> Option<(usize, &Leg)> {
        let at = self.lock().active;
        self.routes.legs.get(at).map(|leg| (at, leg))
    }

    /// Goes on to the next route with a usable key.
    fn advance(&self, from: usize, failure: &Failure, sink: &mut dyn FnMut(StreamEvent)) -> bool {
        self.may_leave(failure) && {
            let why = format!("failed ({})", failure.class.name());
            let is_limited = failure.class == ErrorClass::RateLimit;
            self.go_on(from, &failure.provider, &why, is_limited, sink)
        }
    }

    fn go_on(
        &self,
        from: usize,
        provider: &str,
        why: &str,
        is_limited: bool,
        sink: &mut dyn FnMut(StreamEvent),
    ) -> bool {
        let Some(next) = self.routes.legs.get(from + 1) else {
            return false;
        };
        let mut state = self.lock();
        if from == state.home && is_limited {
            state.home_limited = Some(Instant::now());
        }
        state.active = from + 1;
        drop(state);
        let route = next.endpoint.route();
        let line = format!(
            "{provider} {why}; {} with {} answers from here on",
            route.provider, route.model
        );
        tracing::warn!("{line}");
        sink(StreamEvent::Switched(line));
        true
    }

    /// The error as it leaves this crate: with its route, its history, and without secrets.
    fn told(&self, mut error: ProviderError, leg: &Leg) -> ProviderError {
        let route = leg.endpoint.route();
        error.provider.clone_from(&route.provider);
        error.model.clone_from(&route.model);
        error.message = self.routes.redactor.redact(&error.message).into_owned();
        error
    }

    /// All keys of a route rest.
    fn no_key_left(&self, leg: &Leg) -> ProviderError {
        let count = leg.keys.len();
        let message = format!("all {count} keys are exhausted for now");
        self.told(ProviderError::new(ErrorClass::RateLimit, message), leg)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journey {
    fn ended(self, mut error: ProviderError) -> ProviderError {
        error.attempts = self.total.max(1);
        error.history = self.history;
        error
    }

    fn on_a_new_route(&mut self) {
        self.attempt = 0;
        self.slowed = 0;
        self.reconnected = false;
    }
}

impl Provider for Chain {
    fn complete(
        &self,
        request: &Request,
        sink: &mut dyn FnMut(StreamEvent),
        interrupt: &Wake,
    ) -> Result<Response, ProviderError> {
        let mut journey = Journey::default();
        loop {
            let Some((at, leg)) = self.active() else {
                let message = "the chain of providers is empty";
                return Err(ProviderError::new(ErrorClass::Unknown, message));
            };
            let lease = match leg.keys.len() {
                0 => None,
                _ => match leg.keys.lease() {
                    Some(lease) => Some(lease),
                    None => {
                        let error = self.no_key_left(leg);
                        if self.advance(at, &error, sink) {
                            journey.on_a_new_route();
                            continue;
                        }
                        return Err(journey.ended(error));
                    }
                },
            };
            journey.total += 1;
            journey.attempt += 1;
            // One request of this kind for a process: the first route's.
            let asked = self
                .routes
                .window_was_asked_for
                .swap(true, Ordering::Relaxed);
            if !asked && leg.window_is_guessed {
                leg.learn_window(lease.as_ref(), &self.routes.windows);
            }
            let secret = lease.as_ref().and_then(|lease| lease.secret.as_ref());
            let error = match leg.endpoint.ask(request, secret, sink, interrupt) {
                Ok(response) => return Ok(response),
                Err(error) => self.told(error, leg),
            };
            if error.class != ErrorClass::Interrupted && leg.endpoint.learn(&error) {
                tracing::info!("{error}; the request is changed and made again");
                if let Some(line) = lesson(&error) {
                    sink(StreamEvent::Switched(line));
                }
                journey.attempt -= 1;
                continue;
            }
            journey.history.push(error.to_string());
            if let Some(end) = self.react(&mut journey, error, (at, leg), lease, sink, interrupt) {
                return Err(journey.ended(end));
            }
        }
    }

    fn route(&self) -> RouteInfo {
        match self.active() {
            Some((_, leg)) => leg.endpoint.info(),
            None => RouteInfo {
                provider: String::new(),
                model: String::new(),
                base_url: String::new(),
                context_length: 0,
                max_tokens: None,
                takes_images: false,
            },
        }
    }

    fn begin_turn(&self) {
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
        let Some((at, leg)) = self.active() else {
            return false;
        };
        if self.moves_on == MovesOn::WhenUnpaid {
            return false;
        }
        self.go_on(at, &leg.endpoint.route().provider, why, false, sink)
    }

    fn branch(&self) -> Option<Arc<dyn Provider>> {
        let active = self.lock().active;
        Some(Arc::new(Self {
            routes: Arc::clone(&self.routes),
            moves_on: self.moves_on,
            state: Mutex::new(State {
                active,
                home: active,
                home_limited: None,
            }),
        }))
    }

    fn adopt_context_length(&self, tokens: u64) {
        if let Some((_, leg)) = self.active() {
            let route = leg.endpoint.route();
            leg.endpoint.set_window(tokens);
            let stated = Stated {
                window: tokens,
                is_ollama: leg.endpoint.is_ollama(),
            };
            self.routes
                .windows
                .put(&route.model, &route.base_url, stated);
        }
    }
}

impl Chain {
    /// Does what a failure calls for; the error to end with, if it is over.
    fn react(
        &self,
        journey: &mut Journey,
        error: ProviderError,
        (at, leg): (usize, &Leg),
        lease: Option<Lease>,
        sink: &mut dyn FnMut(StreamEvent),
        interrupt: &Wake,
    ) -> Option<ProviderError> {
        if error.class == ErrorClass::RateLimit {
            journey.slowed += 1;
        }
        let standing = Standing {
            attempt: journey.attempt,
            most: self.routes.most_attempts,
            keys: leg.keys.len(),
            slowed: journey.slowed,
            has_fallback: at + 1 < self.routes.legs.len() && self.may_leave(&error),
            reconnected: journey.reconnected || self.moves_on == MovesOn::WhenUnpaid,
        };
        let step = step(&error, standing, SystemTime::now());
        match step {
            Step::Wait(pause) | Step::Reconnect(pause) => {
                sink(StreamEvent::Waiting {
                    seconds: pause.as_secs_f64(),
                    reason: error.to_string(),
                });
                if let Step::Reconnect(_) = step {
                    journey.reconnected = true;
                    leg.endpoint.reconnect();
                }
                drop(lease);
                if interrupt.wait(pause) {
                    return Some(self.told(ProviderError::interrupted(), leg));
                }
                None
            }
            Step::Rotate => {
                let another = lease.as_ref().is_some_and(|lease| lease.exhaust(&error));
                if another && leg.keys.len() > 1 {
                    let label = lease.map(|lease| lease.label.clone()).unwrap_or_default();
                    sink(StreamEvent::Switched(format!(
                        "the key `{label}` of {} is set aside ({}); another one is used",
                        error.provider,
                        error.class.name()
                    )));
                    // A bad key says nothing about the next one.
                    journey.attempt = 0;
                    journey.slowed = 0;
                    return None;
                }
                self.leave(journey, error, at, sink)
            }
            Step::Fallback => self.leave(journey, error, at, sink),
            Step::GiveUp => Some(error),
        }
    }

    fn leave(
        &self,
        journey: &mut Journey,
        error: ProviderError,
        at: usize,
        sink: &mut dyn FnMut(StreamEvent),
    ) -> Option<ProviderError> {
        if self.advance(at, &error, sink) {
            journey.on_a_new_route();
            return None;
        }
        Some(error)
    }
}

/// What a lesson means for whoever watches; `None` for those that lose nothing.
fn lesson(failure: &Failure) -> Option<String> {
    let what = match failure.class {
        ErrorClass::ImagesRejected => "takes no images; the conversation goes on without them",
        ErrorClass::ImageTooLarge => "refuses an image this large; it is left out above 4 MiB",
        ErrorClass::MultimodalToolContent => {
            "takes no images in the results of tools; they are left out"
        }
        _ => return None,
    };
    Some(format!(
        "{} with {} {what}",
        failure.provider, failure.model
    ))
}
