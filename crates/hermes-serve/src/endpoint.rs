//! What lies between a row of the table and its function.

use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, on};
use hyper::Request;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use crate::route::Verb;

/// What answers requests that are let in.
pub type Endpoints = TowerToHyperService<Router>;

/// Lets the endpoints answer.
pub async fn answered(endpoints: &Endpoints, request: Request<Body>) -> Response {
    let answered: Result<Response, Infallible> = endpoints.call(request).await;
    match answered {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// A request as the endpoints of a server read it.
pub trait ReadRequest: Sized + Send + 'static {
    /// The errors of the server.
    type Error: IntoResponse + From<LostWork> + Send + 'static;

    /// Reads a request.
    fn read(request: Request<Body>) -> impl Future<Output = Result<Self, Self::Error>> + Send;
}

/// Work beside the connections that has ended without a result: a bug, which the log tells.
#[derive(Debug)]
pub struct LostWork;

/// Runs work that may wait for the disk beside the connections.
pub async fn off_loop<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<LostWork> + Send + 'static,
{
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| {
            tracing::error!(%error, "a request failed");
            Err(E::from(LostWork))
        })
}

/// Reads a request and answers it with a function.
pub async fn answer_with<C, A>(request: Request<Body>, endpoint: impl FnOnce(C) -> A) -> Response
where
    C: ReadRequest,
    A: Future<Output = Result<Response, C::Error>>,
{
    let answered = match C::read(request).await {
        Ok(call) => endpoint(call).await,
        Err(error) => Err(error),
    };
    answered.unwrap_or_else(IntoResponse::into_response)
}

/// An endpoint that waits for other things than the disk.
pub fn waiting<C, F, A>(verb: Verb, endpoint: F) -> MethodRouter
where
    C: ReadRequest,
    F: Fn(C) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Result<Response, C::Error>> + Send,
{
    on(verb.filter(), move |request: Request<Body>| {
        let endpoint = endpoint.clone();
        async move { answer_with(request, endpoint).await }
    })
}

/// An endpoint that may wait for the disk.
pub fn disk<C: ReadRequest>(
    verb: Verb,
    endpoint: fn(&C) -> Result<Response, C::Error>,
) -> MethodRouter {
    waiting(verb, move |call: C| off_loop(move || endpoint(&call)))
}
