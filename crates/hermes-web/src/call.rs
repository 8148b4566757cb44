//! One request, as endpoints read it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams};
use axum::response::Response;
use bytes::Bytes;
use hermes_runtime::Context;
use hermes_serve::ReadRequest;
use hyper::header::{HeaderMap, HeaderName};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::app::{App, off_loop};
use crate::gate::Visitor;
use crate::http::{self, ApiError};
use crate::masking::masked_json;

/// The result of an endpoint.
pub(crate) type Answered = Result<Response, ApiError>;

/// A request that was let in.
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) visitor: Visitor,
    path: String,
    headers: HeaderMap,
    query: String,
    params: Vec<(String, String)>,
    body: Option<Value>,
    upgrade: Option<OnUpgrade>,
}

impl ReadRequest for Call {
    type Error = ApiError;

    /// Reads a request, its body included.
    async fn read(request: Request<Body>) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let app = parts.extensions.get::<Arc<App>>().cloned();
        let app = app.ok_or_else(|| ApiError::internal("the request lost its server"))?;
        let visitor = parts.extensions.get::<Visitor>().cloned();
        let visitor = visitor.ok_or_else(|| ApiError::internal("the request lost its gate"))?;
        let upgrade = parts.extensions.remove::<OnUpgrade>();
        let params = RawPathParams::from_request_parts(&mut parts, &()).await;
        let params = params.map_err(|_| ApiError::bad_request("the path is not UTF-8"))?;
        let params = params
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(Self {
            app,
            visitor,
            path: parts.uri.path().to_owned(),
            params: params.collect(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers,
            body: http::read_json(body).await?,
            upgrade,
        })
    }
}

impl Call {
    /// The connection itself, once, where the client asked for it.
    pub(crate) fn take_upgrade(&mut self) -> Option<OnUpgrade> {
        self.upgrade.take()
    }

    /// The settings in effect now.
    pub(crate) fn context(&self) -> Arc<Context> {
        self.app.context()
    }

    /// An answer in JSON in which every secret of this home is masked.
    pub(crate) fn answer(&self, value: Value) -> Answered {
        let text = self.masked(&value)?;
        Ok(http::json_text_response(StatusCode::OK, text))
    }

    /// The text of that.
    pub(crate) fn masked(&self, value: &impl Serialize) -> Result<String, ApiError> {
        let text = masked_json(&self.app.redactor(), value);
        text.map_err(|error| ApiError::internal(error.to_string()))
    }

    /// A part of the path that varies.
    pub(crate) fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// The path as it came.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// A header as text.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// A parameter of the query, if it is there and not empty.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        query_value(&self.query, name).filter(|value| !value.is_empty())
    }

    /// A switch in the query; off unless given.
    pub(crate) fn query_flag(&self, name: &str) -> Result<bool, ApiError> {
        self.query(name).map_or(Ok(false), |word| {
            switch_word(&word).ok_or_else(|| {
                let message = "must be true or false";
                ApiError::invalid(&["query", name], message, "bool_parsing")
            })
        })
    }

    /// A whole number in the query, within these bounds.
    pub(crate) fn query_number(
        &self,
        name: &str,
        otherwise: i64,
        bounds: std::ops::RangeInclusive<i64>,
    ) -> Result<i64, ApiError> {
        let Some(word) = self.query(name) else {
            return Ok(otherwise);
        };
        let number = word.trim().parse::<i64>().map_err(|_| {
            ApiError::invalid(&["query", name], "must be a whole number", "int_parsing")
        })?;
        if bounds.contains(&number) {
            return Ok(number);
        }
        let message = format!("must be between {} and {}", bounds.start(), bounds.end());
        Err(ApiError::invalid(
            &["query", name],
            &message,
            "out_of_range",
        ))
    }

    /// The body, which must be a JSON object.
    pub(crate) fn object(&self) -> Result<&Map<String, Value>, ApiError> {
        match &self.body {
            Some(Value::Object(object)) => Ok(object),
            Some(_) => Err(ApiError::invalid(
                &["body"],
                "must be a JSON object",
                "model_attributes_type",
            )),
            None => Err(ApiError::invalid(&["body"], "is required", "missing")),
        }
    }

    /// The body, a JSON object or nothing.
    pub(crate) fn optional_object(&self) -> Result<Map<String, Value>, ApiError> {
        match &self.body {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(_) => self.object().cloned(),
        }
    }

    /// A text of the body; `None` if it is absent or null.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, ApiError> {
        text_of(self.object()?, name)
    }

    /// A text of the body that must be there.
    pub(crate) fn required_text(&self, name: &str) -> Result<&str, ApiError> {
        self.text(name)?.ok_or_else(|| missing(name))
    }

    /// A switch of the body.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, ApiError> {
        flag_of(self.object()?, name)
    }

    /// A whole number of the body.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, ApiError> {
        match self.object()?.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_i64().map(Some).ok_or_else(|| {
                ApiError::invalid(&["body", name], "must be a whole number", "int_type")
            }),
        }
    }

    /// A list of texts of the body.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, ApiError> {
        let wrong = || ApiError::invalid(&["body", name], "must be a list of strings", "list_type");
        match self.object()?.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(items)) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                texts
                    .collect::<Option<Vec<_>>>()
                    .map(Some)
                    .ok_or_else(wrong)
            }
            Some(_) => Err(wrong()),
        }
    }
}

/// Answers with what is looked up once for all who ask for the same at once.
pub(crate) async fn shared(call: Call, look: fn(&Call) -> Result<String, ApiError>) -> Answered {
    let app = Arc::clone(&call.app);
    // Pages ask for the same under the path alone.
    let question = format!("api {}?{}", call.path, call.query);
    let looked = move || {
        off_loop(move || {
            let text = look(&call)?;
            Ok((StatusCode::OK, Bytes::from(text)))
        })
    };
    let (status, text) = app.reads.read(&question, looked).await?;
    Ok(http::json_text_response(status, text))
}

/// A text of an object; `None` if it is absent or null.
pub(crate) fn text_of<'o>(
    object: &'o Map<String, Value>,
    name: &str,
) -> Result<Option<&'o str>, ApiError> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ApiError::invalid(
            &["body", name],
            "must be a string",
            "string_type",
        )),
    }
}

/// A switch of an object; `None` if it is absent or null.
pub(crate) fn flag_of(object: &Map<String, Value>, name: &str) -> Result<Option<bool>, ApiError> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(yes)) => Ok(Some(*yes)),
        Some(_) => Err(ApiError::invalid(
            &["body", name],
            "must be true or false",
            "bool_type",
        )),
    }
}

/// A field that is not there.
pub(crate) fn missing(name: &str) -> ApiError {
    ApiError::invalid(&["body", name], "is required", "missing")
}

/// The first value of a name in a query.
pub(crate) fn query_value(query: &str, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let found = pairs.find(|(key, _)| key == name);
    found.map(|(_, value)| value.into_owned())
}

/// What a word for true or false means.
fn switch_word(word: &str) -> Option<bool> {
    match word.trim().to_lowercase().as_str() {
        "false" | "0" | "no" | "off" => Some(false),
        word if hermes_config::is_truthy(word) => Some(true),
        _ => None,
    }
}

/// An answer in JSON, status 200.
#[expect(
    clippy::unnecessary_wraps,
    reason = "endpoints end with it, and may fail before"
)]
pub(crate) fn json(value: &Value) -> Answered {
    Ok(http::json_response(StatusCode::OK, value))
}
