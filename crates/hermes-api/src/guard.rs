//! What every request goes through: where it comes from, who asks, and what every answer carries.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use hermes_serve::{Endpoints, answered};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};

use crate::app::App;
use crate::http::{ApiError, Refusal, has_key};
use crate::open_paths::is_open;
use crate::settings::Origins;

const METHODS: &str = "GET, POST, PATCH, DELETE, OPTIONS";
const REQUEST_HEADERS: &str = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Hermes-Session-Id, X-Hermes-Session-Key";
const EXPOSED_HEADERS: &str = "Retry-After, X-Hermes-Completed, X-Hermes-Error, X-Hermes-Partial, X-Hermes-Session-Id, X-Hermes-Session-Key";
const SECURITY: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=()",
    ),
];

/// Where a request comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Answers a request, or refuses it.
pub(crate) async fn guarded(
    app: &Arc<App>,
    endpoints: &Endpoints,
    peer: Peer,
    request: Request<Body>,
) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = match admission(app, peer, &request) {
        Admission::Refused(response) => *response,
        Admission::Admitted => {
            let method = request.method().clone();
            let place = request.uri().clone();
            let response = answer(app, endpoints, request).await;
            log_refusal(peer, &method, &place, &response);
            response
        }
    };
    let headers = response.headers_mut();
    for (name, value) in SECURITY {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(origin) = origin
        && is_allowed(app, &origin)
    {
        allow_origin(headers, &app.settings.origins, origin);
    }
    app.metrics.answered(response.status());
    response
}

/// Lets the endpoint of a request answer it.
async fn answer(app: &Arc<App>, endpoints: &Endpoints, mut request: Request<Body>) -> Response {
    if let Err(error) = without_profile(app, &mut request) {
        return error.into_response();
    }
    request.extensions_mut().insert(Arc::clone(app));
    answered(endpoints, request).await
}

/// Takes `/p/PROFILE` off the path of a request; another profile than this one is not served here.
fn without_profile(app: &App, request: &mut Request<Body>) -> Result<(), ApiError> {
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str());
    let Some((profile, rest)) = path
        .strip_prefix("/p/")
        .and_then(|path| path.split_once('/'))
    else {
        return Ok(());
    };
    let own = app.context().current.as_ref().map(ToString::to_string);
    if profile != own.as_deref().unwrap_or("default") {
        let shown = hermes_text::shown(profile, 80);
        let message = format!("this server does not serve the profile {shown}");
        return Err(ApiError::not_found(message).code("profile_not_found"));
    }
    let rest = format!("/{rest}").parse();
    *request.uri_mut() = rest.map_err(|_| ApiError::bad_request("the path is not usable"))?;
    Ok(())
}

enum Admission {
    Admitted,
    Refused(Box<Response>),
}

fn admission(app: &Arc<App>, peer: Peer, request: &Request<Body>) -> Admission {
    let refused = |response: Response| Admission::Refused(Box::new(response));
    let headers = request.headers();
    let origin = headers.get(header::ORIGIN);
    if origin.is_some_and(|origin| !is_allowed(app, origin)) {
        note(request, peer, "another origin");
        return refused(status(StatusCode::FORBIDDEN));
    }
    if request.method() == Method::OPTIONS {
        return refused(match origin {
            Some(_) => status(StatusCode::OK),
            None => status(StatusCode::FORBIDDEN),
        });
    }
    let now = Instant::now();
    let is_open = is_open(request.uri().path());
    let has_key = has_key(headers, &app.settings.key);
    if !has_key && app.settings.is_loopback() && !names_this_machine(app, headers) {
        note(request, peer, "another host");
        let message = "the Host header names another machine";
        let error = ApiError::bad_request(message).code("invalid_host");
        return refused(error.into_response());
    }
    let wait = app.failures.wait_of(peer.0, now);
    // Processes of this machine share one address: one that guesses must not shut the others out.
    if is_open || has_key && (wait.is_none() || peer.0.is_loopback()) {
        return Admission::Admitted;
    }
    if let Some(seconds) = wait {
        let error = ApiError::busy("too many requests with a wrong key", seconds);
        return refused(error.into_response());
    }
    app.failures.note(peer.0, now);
    app.metrics.refused_key();
    note(request, peer, "a wrong or missing key");
    let message = "the API key is missing or wrong; send it as `Authorization: Bearer KEY`";
    let error = ApiError::refused(StatusCode::UNAUTHORIZED, message)
        .code("invalid_api_key")
        .header(header::WWW_AUTHENTICATE, "Bearer".to_owned());
    refused(error.into_response())
}

/// One line about a request that nothing can be done with. What clients ask for in vain in the course of
/// things, such as something that is not there yet, is no news.
fn log_refusal(peer: Peer, method: &Method, place: &Uri, response: &Response) {
    let Some(Refusal(reason)) = response.extensions().get::<Refusal>() else {
        return;
    };
    let (status, peer) = (response.status(), peer.0);
    let reason = hermes_text::shown(reason, 300);
    let path = hermes_text::shown(place.path(), 200);
    match status {
        StatusCode::NOT_FOUND | StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => {
            tracing::debug!(%peer, %method, path, "{status}: {reason}");
        }
        status if status.is_server_error() => {
            tracing::warn!(%peer, %method, path, "{status}: {reason}");
        }
        status => tracing::info!(%peer, %method, path, "{status}: {reason}"),
    }
}

/// One line about a request that was refused; nothing in it can forge another.
fn note(request: &Request<Body>, peer: Peer, reason: &str) {
    let header = |name: &str| {
        let value = request.headers().get(name);
        let value = value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        hermes_text::shown(&value.unwrap_or_default(), 200)
    };
    tracing::warn!(
        peer = %peer.0,
        forwarded_for = header("x-forwarded-for"),
        method = %request.method(),
        path = hermes_text::shown(request.uri().path(), 200),
        user_agent = header("user-agent"),
        "refused a request with {reason}"
    );
}

fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn is_allowed(app: &App, origin: &HeaderValue) -> bool {
    let origin = origin.to_str().ok();
    origin.is_some_and(|origin| origin.is_empty() || app.settings.origins.allow(origin))
}

fn allow_origin(headers: &mut HeaderMap, origins: &Origins, origin: HeaderValue) {
    if origin.is_empty() {
        return;
    }
    let allowed = match origins {
        Origins::Any => HeaderValue::from_static("*"),
        Origins::These(_) => {
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
            origin
        }
    };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    let fixed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Whether the client meant this machine. A page of another host that a browser was led to believe
/// is here (DNS rebinding) did not.
fn names_this_machine(app: &App, headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST) else {
        // Only HTTP/1.0 has none; no browser speaks it.
        return true;
    };
    let Ok(host) = host.to_str() else {
        return false;
    };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_loopback = name
        .parse::<IpAddr>()
        .is_ok_and(|address| address.is_loopback());
    is_loopback
        || name.eq_ignore_ascii_case("localhost")
        || name.eq_ignore_ascii_case(&app.settings.host)
}
