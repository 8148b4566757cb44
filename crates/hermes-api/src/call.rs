//! One request, as endpoints read it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams};
use axum::response::Response;
use hermes_serve::ReadRequest;
use hyper::header::{HeaderMap, HeaderName};
use hyper::{Request, StatusCode};
use serde_json::{Map, Value};

use crate::app::App;
use crate::http::{self, ApiError, IDEMPOTENCY, SESSION_ID, SESSION_KEY};

/// Longest key in a header, in characters.
pub(crate) const MOST_ID: usize = 256;
/// Longest id of a session, in bytes, as sessions are stored.
pub(crate) const MOST_SESSION: usize = 255;

/// The result of an endpoint.
pub(crate) type Answered = Result<Response, ApiError>;

/// A request that was let in.
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    headers: HeaderMap,
    query: String,
    params: Vec<(String, String)>,
    body: Body,
}

impl ReadRequest for Call {
    type Error = ApiError;

    async fn read(request: Request<Body>) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let app = parts.extensions.get::<Arc<App>>().cloned();
        let app = app.ok_or_else(|| ApiError::internal("the request lost its server"))?;
        let params = RawPathParams::from_request_parts(&mut parts, &()).await;
        let params = params.map_err(|_| ApiError::bad_request("the path is not UTF-8"))?;
        let params = params
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(Self {
            app,
            params: params.collect(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers,
            body,
        })
    }
}

impl Call {
    /// The part of the path that varies.
    pub(crate) fn id(&self) -> &str {
        self.params.first().map_or("", |(_, value)| value.as_str())
    }

    /// A parameter of the query.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        let found = pairs.find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    }

    /// A switch in the query; off unless given.
    pub(crate) fn query_switch(&self, name: &str) -> Result<bool, ApiError> {
        let given = self.query(name).filter(|word| !word.is_empty());
        given.map_or(Ok(false), |word| word_for(&word, name))
    }

    /// A header, trimmed; `None` if it is not there or empty.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<String> {
        let value = self.headers.get(name)?;
        let text = String::from_utf8_lossy(value.as_bytes()).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// The session that the client continues.
    pub(crate) fn session_id(&self) -> Result<Option<String>, ApiError> {
        let header = self.header(&SESSION_ID);
        header.map(|id| checked_session_id(&id)).transpose()
    }

    /// The key of the client's long-term memory.
    pub(crate) fn session_key(&self) -> Result<Option<String>, ApiError> {
        match self.header(&SESSION_KEY) {
            Some(key) if !is_plain(&key) => {
                Err(ApiError::bad_request("the session key is not usable")
                    .code("invalid_session_key"))
            }
            key => Ok(key),
        }
    }

    /// The key of a request that may be sent again.
    pub(crate) fn idempotency_key(&self) -> Result<Option<String>, ApiError> {
        match self.header(&IDEMPOTENCY) {
            Some(key) if !is_plain(&key) => {
                let message = format!("the idempotency key has more than {MOST_ID} characters");
                Err(ApiError::bad_request(message).code("invalid_idempotency_key"))
            }
            key => Ok(key),
        }
    }

    /// The body, a JSON object.
    pub(crate) async fn object(&mut self) -> Result<Map<String, Value>, ApiError> {
        http::read_object(std::mem::take(&mut self.body)).await
    }

    /// The body, a JSON object or nothing.
    pub(crate) async fn optional_object(&mut self) -> Result<Map<String, Value>, ApiError> {
        http::read_optional_object(std::mem::take(&mut self.body)).await
    }
}

/// An id that a client gave to a session.
pub(crate) fn checked_session_id(id: &str) -> Result<String, ApiError> {
    if is_plain(id) && id.len() <= MOST_SESSION && !id.contains(['/', '\\']) && !id.contains("..") {
        return Ok(id.to_owned());
    }
    Err(ApiError::bad_request(format!(
        "the session id is not usable: at most {MOST_SESSION} bytes, no slashes, no '..'"
    ))
    .code("invalid_session_id"))
}

fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.chars().count() <= MOST_ID
        && !text.chars().any(char::is_control)
        && !text.contains('\u{FFFD}')
}

/// An answer that names its session.
pub(crate) fn with_session(mut response: Response, id: &str, key: Option<&str>) -> Response {
    http::insert(&mut response, SESSION_ID, id);
    if let Some(key) = key {
        http::insert(&mut response, SESSION_KEY, key);
    }
    response
}

/// An answer in JSON, status 200.
pub(crate) fn json(value: &Value) -> Response {
    http::json_response(StatusCode::OK, value)
}

/// A switch in a body: true, false, or one of the words for them; all else is refused.
pub(crate) fn switch(
    body: &Map<String, Value>,
    name: &str,
    otherwise: bool,
) -> Result<bool, ApiError> {
    let word = match body.get(name) {
        None | Some(Value::Null) => return Ok(otherwise),
        Some(Value::Bool(yes)) => return Ok(*yes),
        Some(Value::String(word)) => word.clone(),
        Some(other) => other.to_string(),
    };
    word_for(&word, name)
}

/// What a word for true or false means.
fn word_for(word: &str, name: &str) -> Result<bool, ApiError> {
    match word.trim().to_lowercase().as_str() {
        "false" | "0" | "no" | "off" => Ok(false),
        word if hermes_config::is_truthy(word) => Ok(true),
        _ => {
            let message = format!("`{name}` must be true or false");
            Err(ApiError::bad_request(message).param(name))
        }
    }
}

/// A text in a body; another type is refused.
pub(crate) fn text(body: &Map<String, Value>, name: &str) -> Result<Option<String>, ApiError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(ApiError::bad_request(format!("`{name}` must be a string")).param(name)),
    }
}
