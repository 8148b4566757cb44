//! The way of a request to its endpoint: host, origin, credential, and then the endpoint itself.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use hermes_serve::{Endpoints, Peer};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};

use super::asked::{coded, is_api, is_public, wants_page};
use super::program::not_an_agent;
use super::renewal::{login_url, refreshed};
use crate::app::App;
use crate::call::query_value;
use crate::gate::{Access, Cookie, DRAIN_PATH, Entry, Event, Mode, Purpose, Visitor, secure};
use crate::http::{ApiError, Refusal};

/// What somebody who is not logged in needs besides.
const LOGIN: [&str; 7] = [
    "/login",
    "/auth/login",
    "/auth/callback",
    "/auth/password-login",
    "/auth/logout",
    "/api/auth/providers",
    "/favicon.ico",
];

/// Answers a request, or refuses it.
pub(crate) async fn answered(
    app: &Arc<App>,
    endpoints: &Endpoints,
    peer: &Peer,
    request: Request<Body>,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let origin = parts.headers.get(header::ORIGIN).cloned();
    let is_gated = app.gate.mode() == Mode::Gated;
    let proxies = &app.gate.settings.proxies;
    let visitor = proxies.visitor(peer.ip(), &parts.headers, is_gated);
    let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
    let mut response = match admitted(app, peer, visitor.clone(), &parts).await {
        Err(response) => *response,
        Ok(_) if method == Method::OPTIONS => status(StatusCode::NO_CONTENT),
        Ok(admitted) => {
            parts.extensions.insert(Arc::clone(app));
            parts.extensions.insert(admitted.visitor);
            let request = Request::from_parts(parts, body);
            let mut response = hermes_serve::answered(endpoints, request).await;
            for cookie in admitted.cookies {
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
            response
        }
    };
    log_refusal(&visitor, &method, &path, &response);
    secure(response.headers_mut(), origin.as_ref());
    response
}

/// A request that may go on.
struct Admitted {
    visitor: Visitor,
    /// Cookies of a session that was renewed on the way.
    cookies: Vec<HeaderValue>,
}

async fn admitted(
    app: &Arc<App>,
    peer: &Peer,
    mut visitor: Visitor,
    request: &Parts,
) -> Result<Admitted, Box<Response>> {
    let refused = |error: ApiError| Box::new(error.into_response());
    let headers = &request.headers;
    let is_upgrade = headers.contains_key(header::UPGRADE);
    if !app.gate.hosts.accept_host(headers) {
        let message = "the Host header names another machine; names that lead here are listed in \
                       dashboard.extra_hosts";
        return Err(refused(coded(ApiError::bad_request(message), is_upgrade)));
    }
    let changes = !matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS);
    if (changes || is_upgrade) && !app.gate.hosts.accept_origin(headers) {
        let message = "the request comes from a page of another site";
        return Err(refused(coded(ApiError::forbidden(message), is_upgrade)));
    }
    let mut cookies = Vec::new();
    if may_drain(app, request) {
        visitor.access = Access::Drain;
        return Ok(Admitted { visitor, cookies });
    }
    visitor.access = match app.gate.mode() {
        Mode::Local => {
            not_an_agent(peer, request).await?;
            local_access(app, request).map_err(|error| refused(*error))?
        }
        Mode::Open { .. } => Access::Open,
        Mode::Gated => gated_access(app, &visitor, request, &mut cookies).await?,
    };
    Ok(Admitted { visitor, cookies })
}

/// Whether a service asks the gateway to take no new work, with the secret for that.
fn may_drain(app: &App, request: &Parts) -> bool {
    let Some(secret) = &app.gate.settings.drain_secret else {
        return false;
    };
    request.method == Method::POST
        && request.uri.path() == DRAIN_PATH
        && bearer(&request.headers).is_some_and(|sent| secret.is(&sent))
}

/// On this machine: pages are for everybody, the API for those who have the token of a page.
fn local_access(app: &App, request: &Parts) -> Result<Access, Box<ApiError>> {
    let path = request.uri.path();
    let is_preflight = request.method == Method::OPTIONS;
    let sent = sent_token(request);
    if sent
        .as_deref()
        .is_some_and(|token| app.gate.is_token(token))
    {
        return Ok(Access::Token);
    }
    if !is_api(path) || is_public(request) || is_preflight || path == "/api/auth/providers" {
        return Ok(Access::Public);
    }
    let (reason, message) = match sent {
        Some(_) => (
            "stale_token",
            "the token is not the one of this dashboard; load the page again",
        ),
        None => (
            "missing_token",
            "the request has no token; send it as X-Hermes-Session-Token",
        ),
    };
    let error = ApiError::new(StatusCode::UNAUTHORIZED, message)
        .field("error", "unauthenticated")
        .field("reason", reason);
    let is_upgrade = request.headers.contains_key(header::UPGRADE);
    Err(Box::new(coded(error, is_upgrade)))
}

/// The token of a request: in a header, or for streams that can carry none in the query.
fn sent_token(request: &Parts) -> Option<String> {
    let headers = &request.headers;
    let own = headers.get("x-hermes-session-token");
    let own = own.and_then(|value| Some(value.to_str().ok()?.trim().to_owned()));
    let in_query = || {
        let query = request.uri.query()?;
        is_stream(request).then(|| query_value(query, "token"))?
    };
    own.or_else(|| bearer(headers))
        .or_else(in_query)
        .filter(|token| !token.is_empty())
}

/// The token of an `Authorization` header.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    is_bearer.then(|| token.trim().to_owned())
}

/// Whether a browser can set no header on this request: WebSockets and event streams.
fn is_stream(request: &Parts) -> bool {
    let headers = &request.headers;
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    headers.contains_key(header::UPGRADE)
        || accept.is_some_and(|accept| accept.contains("text/event-stream"))
}

/// Behind the gate: what a login needs, and everything for those who have a session.
async fn gated_access(
    app: &Arc<App>,
    visitor: &Visitor,
    request: &Parts,
    cookies: &mut Vec<HeaderValue>,
) -> Result<Access, Box<Response>> {
    let refused = |error: ApiError| Box::new(error.into_response());
    let path = request.uri.path();
    let headers = &request.headers;
    if headers.contains_key(header::UPGRADE) {
        return ticket_access(app, visitor, request).map_err(|error| refused(*error));
    }
    let now = jiff::Timestamp::now().as_second();
    let access = Cookie::Access.read(headers, visitor);
    let identity = access
        .as_deref()
        .and_then(|text| app.gate.sessions.identity(Purpose::Access, text, now));
    if let Some(identity) = identity {
        return Ok(Access::Session(identity));
    }
    let is_asset = path.starts_with("/assets/");
    let is_preflight = request.method == Method::OPTIONS;
    if is_public(request) || LOGIN.contains(&path) || is_asset || is_preflight {
        return Ok(Access::Public);
    }
    let had_session = access.is_some() || Cookie::Refresh.read(headers, visitor).is_some();
    match refreshed(app, visitor, headers).await {
        Ok(Some((identity, renewed))) => {
            cookies.extend(renewed);
            return Ok(Access::Session(identity));
        }
        Ok(None) => {}
        Err(error) => return Err(refused(error)),
    }
    Err(Box::new(unauthenticated(
        app,
        visitor,
        request,
        had_session,
    )))
}

fn ticket_access(app: &App, visitor: &Visitor, request: &Parts) -> Result<Access, Box<ApiError>> {
    let ticket = query_value(request.uri.query().unwrap_or_default(), "ticket");
    let identity = ticket.and_then(|ticket| app.gate.tickets.redeem(&ticket, Instant::now()));
    if let Some(identity) = identity {
        return Ok(Access::Session(identity));
    }
    app.gate.audit.note(Entry {
        event: Event::TicketRejected,
        provider: "",
        user: "",
        address: visitor.address,
        reason: "unknown, used or expired",
    });
    let message = "the ticket is missing, used or expired; get one from /api/auth/ws-ticket";
    let error = ApiError::new(StatusCode::UNAUTHORIZED, message)
        .field("error", "unauthenticated")
        .field("reason", "invalid_ticket");
    Err(Box::new(coded(error, true)))
}

/// Pages lead to the login, the API says where it is.
fn unauthenticated(app: &App, visitor: &Visitor, request: &Parts, had_session: bool) -> Response {
    let path = request.uri.path();
    let wanted = request.uri.path_and_query().map(ToString::to_string);
    let wanted = wanted.filter(|_| !is_api(path));
    let address = login_url(app, visitor, wanted.as_deref());
    if !is_api(path) && wants_page(&request.headers) {
        let mut response = status(StatusCode::FOUND);
        if let Ok(address) = HeaderValue::from_str(&address) {
            response.headers_mut().insert(header::LOCATION, address);
        }
        return response;
    }
    let (error, reason) = if had_session {
        ("session_expired", "invalid_or_expired_session")
    } else {
        ("unauthenticated", "no_cookie")
    };
    let message = "log in first";
    let error = ApiError::new(StatusCode::UNAUTHORIZED, message)
        .field("error", error)
        .field("reason", reason)
        .field("login_url", address);
    error.into_response()
}

fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// One line about a request that was refused; nothing in it can forge another.
fn log_refusal(visitor: &Visitor, method: &Method, path: &str, response: &Response) {
    let Some(Refusal(reason)) = response.extensions().get::<Refusal>() else {
        return;
    };
    let (status, peer) = (response.status(), visitor.address);
    let reason = hermes_text::shown(reason, 300);
    let path = hermes_text::shown(path, 200);
    match status {
        status if status.is_server_error() => {
            tracing::warn!(%peer, %method, path, "{status}: {reason}");
        }
        StatusCode::FORBIDDEN | StatusCode::BAD_REQUEST => {
            tracing::info!(%peer, %method, path, "{status}: {reason}");
        }
        status => tracing::debug!(%peer, %method, path, "{status}: {reason}"),
    }
}
