//! Requests to the API of a service: JSON both ways, bounded in time and size, and ended when the
//! caller is interrupted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_http::{BodyError, HttpSettings, Scheme};
use hermes_proc::{Wake, wait_for_any};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Url};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::backend::Failure;

/// Most bytes of an answer.
const MOST_ANSWER: usize = 4 << 20;
/// Most characters of a service's own words in an error.
const MOST_WORDS: usize = 200;

/// The API of a service.
pub(crate) struct Api {
    base: Url,
    headers: HeaderMap,
    http: HttpSettings,
    limit: Duration,
    running: Mutex<Option<Running>>,
}

struct Running {
    handle: Handle,
    client: Client,
    _until: oneshot::Sender<()>,
}

impl Api {
    /// An API at this address. `headers` may hold a key.
    pub(crate) fn new(
        base: &str,
        headers: &[(&'static str, &str)],
        limit: Duration,
        http: HttpSettings,
    ) -> Result<Self, String> {
        let mut base = base.trim().trim_end_matches('/').to_owned();
        base.push('/');
        let base = Url::parse(&base).map_err(|_| "its address is not a URL".to_owned())?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err("its address must begin with http:// or https://".to_owned());
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| "its key has characters that cannot be sent".to_owned())?;
            value.set_sensitive(true);
            map.insert(HeaderName::from_static(name), value);
        }
        Ok(Self {
            base,
            headers: map,
            http,
            limit,
            running: Mutex::new(None),
        })
    }

    /// Sends a request and reads the answer; `null` if it is empty.
    pub(crate) fn send(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
        stop: &Wake,
    ) -> Result<Value, Failure> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            // An empty last segment is a slash at the end, which some services insist on.
            segments.pop_if_empty().extend(path);
        }
        let (handle, client) = self.started().map_err(Failure::new)?;
        let mut request = client.request(method, url).headers(self.headers.clone());
        if let Some(body) = body {
            request = request
                .header(reqwest::header::CONTENT_TYPE, "application/json")
                .body(body.to_string());
        }
        let done = Arc::new(Wake::new().map_err(|error| Failure::new(error.to_string()))?);
        let answer = Arc::new(Mutex::new(None));
        let task = {
            let (done, answer) = (Arc::clone(&done), Arc::clone(&answer));
            handle.spawn(async move {
                let outcome = answered(request).await;
                *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
                done.raise();
            })
        };
        match wait_for_any(&[&done, stop], self.limit) {
            Some(0) => {}
            Some(_) => {
                task.abort();
                return Err(Failure::new("it was interrupted"));
            }
            None => {
                task.abort();
                let seconds = self.limit.as_secs_f64();
                return Err(Failure::new(format!(
                    "it did not answer within {seconds} s"
                )));
            }
        }
        let answer = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        answer.unwrap_or_else(|| Err(Failure::new("the request was lost")))
    }

    pub(crate) fn post(&self, path: &[&str], body: &Value, stop: &Wake) -> Result<Value, Failure> {
        self.send(Method::POST, path, Some(body), stop)
    }

    /// The network thread and the client, made for the first request.
    fn started(&self) -> Result<(Handle, Client), String> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*running {
            return Ok((running.handle.clone(), running.client.clone()));
        }
        let scheme = match self.base.scheme() {
            "http" => Scheme::Plain,
            _ => Scheme::Encrypted,
        };
        let builder = self.http.with_proxies(self.http.builder(scheme)?)?;
        let client = builder.build().map_err(hermes_http::root_cause)?;
        let failed = |error: std::io::Error| format!("the network cannot be used: {error}");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed)?;
        let handle = runtime.handle().clone();
        let (until, ended) = oneshot::channel::<()>();
        std::thread::Builder::new()
            .name("hermes-memory-http".to_owned())
            .stack_size(512 * 1024)
            .spawn(move || {
                // Ends with an error, always: the other side is dropped, never used.
                drop(runtime.block_on(ended));
                runtime.shutdown_background();
            })
            .map_err(failed)?;
        *running = Some(Running {
            handle: handle.clone(),
            client: client.clone(),
            _until: until,
        });
        Ok((handle, client))
    }
}

async fn answered(request: reqwest::RequestBuilder) -> Result<Value, Failure> {
    let response = request.send().await;
    let response = response.map_err(|error| Failure::new(hermes_http::root_cause(error)))?;
    let status = response.status();
    let bytes = hermes_http::read_body(response, MOST_ANSWER).await;
    let bytes = bytes.map_err(|error| match error {
        BodyError::TooLong => Failure::new("its answer has more than 4 MiB"),
        BodyError::Broken(why) => Failure::new(why),
    })?;
    if !status.is_success() {
        return Err(refused(status.as_u16(), &bytes));
    }
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&bytes).map_err(|_| Failure::new("its answer is not JSON"))
}

/// What the service says of a request that it refuses.
fn refused(status: u16, bytes: &[u8]) -> Failure {
    let said: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let words = ["detail", "error", "message"]
        .iter()
        .find_map(|key| match &said[*key] {
            Value::String(words) => Some(words.clone()),
            Value::Object(inner) => inner
                .get("message")
                .and_then(Value::as_str)
                .map(str::to_owned),
            _ => None,
        });
    let words = words.map(|words| format!(": {}", hermes_text::one_line(&words, MOST_WORDS)));
    let reason = match status {
        401 | 403 => "it does not accept the key".to_owned(),
        404 => "it does not have that".to_owned(),
        429 => "it allows no more requests for now".to_owned(),
        _ => format!("it answered with HTTP {status}"),
    };
    Failure {
        reason: reason + &words.unwrap_or_default(),
        is_of_request: matches!(status, 400 | 404 | 409 | 422),
    }
}
