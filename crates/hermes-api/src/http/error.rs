//! Errors as clients see them: `{"error": {message, type, param, code}}`.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use hermes_serve::LostWork;
use hyper::StatusCode;
use hyper::header::{self, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// The code of a turn that the end of the gateway has ended.
const CUT_OFF: &str = "gateway_stopping";

/// Why a request was refused, beside the answer that says so: for the log.
#[derive(Debug, Clone)]
pub(crate) struct Refusal(pub(crate) String);

/// A refused or failed request.
#[derive(Debug, Clone)]
pub(crate) struct ApiError(Box<Parts>);

#[derive(Debug, Clone)]
struct Parts {
    status: StatusCode,
    kind: &'static str,
    code: Option<&'static str>,
    param: Option<String>,
    message: String,
    headers: Vec<(HeaderName, String)>,
    /// More about a turn that gave no answer.
    hermes: Option<Value>,
    /// Whether the body has the text alone, as for jobs.
    is_plain: bool,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            status,
            kind,
            code: None,
            param: None,
            message: message.into(),
            headers: Vec::new(),
            hermes: None,
            is_plain: false,
        }))
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "invalid_request_error", message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "invalid_request_error", message)
    }

    pub(crate) fn refused(status: StatusCode, message: impl Into<String>) -> Self {
        Self::new(status, "invalid_request_error", message)
    }

    /// Too much at once; to be tried again after so many seconds.
    pub(crate) fn busy(message: impl Into<String>, seconds: u64) -> Self {
        let status = StatusCode::TOO_MANY_REQUESTS;
        Self::new(status, "rate_limit_error", message)
            .code("rate_limit_exceeded")
            .header(header::RETRY_AFTER, seconds.to_string())
    }

    /// Nothing new is begun.
    pub(crate) fn draining() -> Self {
        let message = "the gateway is about to stop and takes no new work; try again shortly";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", message)
            .code("gateway_draining")
            .header(header::RETRY_AFTER, "1".to_owned())
    }

    /// The gateway ended while a turn was on its way.
    pub(crate) fn cut_off(session: &str) -> Self {
        let message = "the gateway was stopped during this turn; what was done is in its session";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", message)
            .code(CUT_OFF)
            .header(header::RETRY_AFTER, "1".to_owned())
            .header(super::headers::SESSION_ID, session.to_owned())
    }

    /// Whether the gateway ended while the turn was on its way.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.0.code == Some(CUT_OFF)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", message)
    }

    /// A turn without a usable answer.
    pub(crate) fn no_answer(message: impl Into<String>, hermes: Value) -> Self {
        let mut error = Self::new(StatusCode::BAD_GATEWAY, "server_error", message);
        error.0.hermes = Some(hermes);
        error.code("agent_incomplete")
    }

    pub(crate) fn code(mut self, code: &'static str) -> Self {
        self.0.code = Some(code);
        self
    }

    pub(crate) fn param(mut self, param: impl Into<String>) -> Self {
        self.0.param = Some(param.into());
        self
    }

    /// The shape of the jobs endpoints: `{"error": message}`.
    pub(crate) fn plain(mut self) -> Self {
        self.0.is_plain = true;
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: String) -> Self {
        self.0.headers.push((name, value));
        self
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// The body.
    pub(crate) fn to_json(&self) -> Value {
        let Parts {
            kind,
            code,
            param,
            message,
            hermes,
            is_plain,
            ..
        } = &*self.0;
        if *is_plain {
            return json!({ "error": message });
        }
        let mut error = json!({
            "message": message,
            "type": kind,
            "param": param,
            "code": code,
        });
        if let Some(hermes) = hermes {
            error["hermes"] = hermes.clone();
        }
        json!({ "error": error })
    }
}

impl From<LostWork> for ApiError {
    fn from(LostWork: LostWork) -> Self {
        Self::internal("the request failed; the log has the reason")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = json_response(self.0.status, &self.to_json());
        response
            .extensions_mut()
            .insert(Refusal(self.0.message.clone()));
        for (name, value) in self.0.headers {
            insert(&mut response, name, &value);
        }
        response
    }
}

/// An answer in JSON.
pub(crate) fn json_response(status: StatusCode, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Adds a header; what cannot stand in one is left out.
pub(crate) fn insert(response: &mut Response, name: HeaderName, value: &str) {
    let fitting: String = value
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if let Ok(value) = HeaderValue::from_bytes(fitting.as_bytes()) {
        response.headers_mut().insert(name, value);
    }
}

impl From<hermes_session::Error> for ApiError {
    fn from(error: hermes_session::Error) -> Self {
        use hermes_session::Error;
        let text = error.to_string();
        match &error {
            Error::InvalidId { .. } => Self::bad_request(text).code("invalid_session_id"),
            Error::Unknown { .. } | Error::Ambiguous { .. } => {
                Self::not_found(text).code("session_not_found")
            }
            Error::Exists { .. } => Self::conflict(text).code("session_exists"),
            Error::TitleTaken { .. } | Error::TitleTooLong { .. } | Error::EmptyTitle => {
                Self::bad_request(text).code("invalid_title")
            }
            _ if error.is_busy() || error.is_storage_full() || error.is_damage() => {
                Self::unavailable(text).code("session_db_unavailable")
            }
            _ => Self::internal(text),
        }
    }
}

impl From<hermes_runtime::Error> for ApiError {
    fn from(error: hermes_runtime::Error) -> Self {
        use hermes_runtime::ErrorKind;
        let kind = error.kind();
        let hint = error.hint();
        let text = match hint {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        match error {
            hermes_runtime::Error::Session(error) => error.into(),
            hermes_runtime::Error::Refused { .. } if kind == ErrorKind::User => Self::busy(text, 5),
            _ => match kind {
                ErrorKind::Environment | ErrorKind::Remote => Self::unavailable(text),
                ErrorKind::User | ErrorKind::Config | ErrorKind::Internal => Self::internal(text),
            },
        }
    }
}
