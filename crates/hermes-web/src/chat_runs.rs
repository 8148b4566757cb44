//! Turns of the chat page: the runs of the API, in this process, for whoever the gate has let in.

use axum::body::Body;
use axum::response::Response;
use http_body_util::{BodyExt as _, Limited};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request};
use serde_json::Value;

use crate::app::App;
use crate::call::{Answered, Call};
use crate::gate::Mode;
use crate::http::ApiError;

/// Largest reason of a refusal.
const MOST_REFUSAL: usize = 64 << 10;
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// `POST /api/chat/runs`.
pub(crate) async fn create(call: Call) -> Answered {
    let body = Value::Object(call.object()?.clone());
    forward(&call, Method::POST, "/v1/runs", Some(&body)).await
}

/// `GET /api/chat/runs/{run_id}`.
pub(crate) async fn show(call: Call) -> Answered {
    let path = path_of(&call, "")?;
    forward(&call, Method::GET, &path, None).await
}

/// `GET /api/chat/runs/{run_id}/events`.
pub(crate) async fn events(call: Call) -> Answered {
    let path = path_of(&call, "/events")?;
    forward(&call, Method::GET, &path, None).await
}

/// `POST /api/chat/runs/{run_id}/approval`.
pub(crate) async fn approve(call: Call) -> Answered {
    let path = path_of(&call, "/approval")?;
    let body = Value::Object(call.object()?.clone());
    forward(&call, Method::POST, &path, Some(&body)).await
}

/// `POST /api/chat/runs/{run_id}/stop`.
pub(crate) async fn stop(call: Call) -> Answered {
    let path = path_of(&call, "/stop")?;
    forward(&call, Method::POST, &path, None).await
}

fn path_of(call: &Call, rest: &str) -> Result<String, ApiError> {
    let id = call.param("run_id");
    let is_plain = id
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if !is_plain || id.is_empty() {
        let shown = hermes_text::shown(id, 80);
        return Err(ApiError::not_found(format!("there is no run {shown}")));
    }
    Ok(format!("/v1/runs/{id}{rest}"))
}

async fn forward(call: &Call, method: Method, path: &str, body: Option<&Value>) -> Answered {
    let last = call.headers().get(&LAST_EVENT).cloned();
    ask(&call.app, method, path, (body, last)).await
}

/// Asks the runs of this process, with a body, and from the event on that a client has seen.
pub(crate) async fn ask(
    app: &App,
    method: Method,
    path: &str,
    (body, last): (Option<&Value>, Option<HeaderValue>),
) -> Answered {
    if app.gate.settings.mode == (Mode::Open { full: false }) {
        return Err(ApiError::forbidden(
            "the chat is off while anybody can reach the dashboard; set up a login, or set \
             HERMES_DASHBOARD_INSECURE_FULL=1",
        ));
    }
    let text = body.map(Value::to_string).unwrap_or_default();
    let mut request = Request::new(Body::from(text));
    *request.method_mut() = method;
    if let Some(last) = last {
        request.headers_mut().insert(LAST_EVENT, last);
    }
    let answered = app.runs.answer(request, path).await;
    if answered.status().is_success() {
        return Ok(answered);
    }
    Err(refusal(answered).await)
}

/// A refusal of the runs in the shape of the dashboard.
async fn refusal(answered: Response) -> ApiError {
    let status = answered.status();
    let body = Limited::new(answered.into_body(), MOST_REFUSAL)
        .collect()
        .await;
    let said: Value = match body {
        Ok(body) => serde_json::from_slice(&body.to_bytes()).unwrap_or_default(),
        Err(error) => {
            tracing::warn!(%error, "the reason of a refused turn cannot be read");
            Value::Null
        }
    };
    let message = said["error"]["message"].as_str();
    ApiError::new(status, message.unwrap_or("the turn was refused"))
}
