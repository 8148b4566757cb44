//! Which programs of this machine are answered: those of people, not those of agents.

use askama::Template as _;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use hermes_proc::TcpPeer;
use hermes_serve::Peer;
use hyper::header;
use hyper::{Method, StatusCode};

use super::asked::{coded, is_api, is_public, wants_page};
use crate::http::{ApiError, Refusal};
use crate::pages::{RefusedPage, page_response};

/// The pages of this machine carry the token, so they are for people: an agent that reads one could
/// approve what it wants to do. What anybody may read, it may.
pub(super) async fn not_an_agent(peer: &Peer, request: &Parts) -> Result<(), Box<Response>> {
    if is_public(request) || request.method == Method::OPTIONS {
        return Ok(());
    }
    let (reason, message) = match peer.program().await {
        TcpPeer::NotAnAgent => return Ok(()),
        TcpPeer::Agent(pid) => (
            "agent",
            format!(
                "the dashboard is for people, and process {pid}, which asks, was started by an agent or \
                 through Hermes"
            ),
        ),
        TcpPeer::Unknown(why) => (
            "unknown_program",
            format!(
                "it cannot be told whether a person or an agent asks: {why}; use a browser of this \
                 machine, or let the dashboard listen on another address with a login (docs/dashboard.md)"
            ),
        ),
    };
    if !is_api(request.uri.path()) && wants_page(&request.headers) {
        let page = RefusedPage { message: &message };
        let mut response = page_response(page.render().unwrap_or_else(|_| message.clone()));
        *response.status_mut() = StatusCode::FORBIDDEN;
        response.extensions_mut().insert(Refusal(message));
        return Err(Box::new(response));
    }
    let error = ApiError::forbidden(message)
        .field("error", "forbidden")
        .field("reason", reason);
    let is_upgrade = request.headers.contains_key(header::UPGRADE);
    Err(Box::new(coded(error, is_upgrade).into_response()))
}
