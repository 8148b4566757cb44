//! The older transport of the protocol: one stream of events from the server, and requests beside it
//! to an address that the first event names.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::{Stream, StreamExt as _};
use http::{HeaderName, HeaderValue};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, StatusCode, Url};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use sse_stream::{Sse, SseStream};

use super::client::headers;
use crate::config::RemoteConfig;
use crate::error::Error;
use crate::fault::Fault;
use crate::token_source::TokenSource;

/// Bytes of one event.
const MAX_EVENT: usize = 72 << 20;
/// Events that are no messages, one after the other, before a server is given up.
const MAX_GARBAGE: usize = 1_000;

type Events = Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send>>;

/// Why a request beside the stream failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SseFailure {
    #[error("a login is needed")]
    Unauthorised(String),
    #[error("the server answered with HTTP {0}")]
    Status(StatusCode),
    #[error("{0}")]
    Network(String),
}

/// Requests to one server.
#[derive(Clone)]
struct Requests {
    client: Client,
    headers: Arc<Vec<(HeaderName, HeaderValue)>>,
    tokens: Option<Arc<dyn TokenSource>>,
    fault: Fault,
}

impl Requests {
    /// Sends a request, and once more with another token if the first was refused.
    async fn send(&self, url: &Url, body: Option<&[u8]>) -> Result<reqwest::Response, SseFailure> {
        let mut is_repeated = false;
        loop {
            let token = match &self.tokens {
                Some(tokens) => tokens.bearer().await,
                None => None,
            };
            let mut request = match body {
                None => self
                    .client
                    .get(url.clone())
                    .header(ACCEPT, "text/event-stream"),
                Some(body) => {
                    let request = self.client.post(url.clone()).body(body.to_vec());
                    request.header(CONTENT_TYPE, "application/json")
                }
            };
            for (name, value) in self.headers.iter() {
                request = request.header(name, value);
            }
            if let Some(token) = &token {
                request = request.bearer_auth(token.expose());
            }
            let response = request.send().await;
            let response =
                response.map_err(|error| SseFailure::Network(hermes_http::root_cause(error)))?;
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            if status != StatusCode::UNAUTHORIZED {
                return Err(SseFailure::Status(status));
            }
            let reason = match &self.tokens {
                Some(tokens) if !is_repeated => match tokens.refused(token.as_ref()).await {
                    Ok(()) => {
                        is_repeated = true;
                        continue;
                    }
                    Err(needs_login) => needs_login.0,
                },
                _ => String::new(),
            };
            self.fault.set_login(reason.clone());
            return Err(SseFailure::Unauthorised(reason));
        }
    }
}

/// A connection of the older kind.
pub(crate) struct SseTransport {
    requests: Requests,
    events: Option<Events>,
    endpoint: Url,
}

/// Opens the stream and waits for the address of requests.
pub(crate) async fn sse(
    remote: &RemoteConfig,
    client: Client,
    tokens: Option<Arc<dyn TokenSource>>,
    fault: Fault,
) -> Result<SseTransport, Error> {
    let requests = Requests {
        client,
        headers: Arc::new(headers(remote)?.into_iter().collect()),
        tokens,
        fault,
    };
    let url = Url::parse(&remote.url).map_err(|error| Error::Unreachable(error.to_string()))?;
    let response = requests
        .send(&url, None)
        .await
        .map_err(|failure| match failure {
            SseFailure::Unauthorised(reason) => Error::NeedsLogin { reason },
            other => Error::Unreachable(other.to_string()),
        })?;
    let mut events: Events = Box::pin(SseStream::from_bytes_stream(bounded(response)));
    while let Some(event) = events.next().await {
        let event =
            event.map_err(|_| Error::NotMcp("its stream of events is broken".to_owned()))?;
        if event.event.as_deref() != Some("endpoint") {
            continue;
        }
        let endpoint = event.data.unwrap_or_default();
        let endpoint = url.join(endpoint.trim());
        // Whoever names another host would get our token.
        return match endpoint.ok().filter(|it| it.origin() == url.origin()) {
            Some(endpoint) => Ok(SseTransport {
                requests,
                events: Some(events),
                endpoint,
            }),
            None => Err(Error::NotMcp(
                "it wants requests at another address than its own".to_owned(),
            )),
        };
    }
    Err(Error::NotMcp("it names no address for requests".to_owned()))
}

/// The body of a response, as long as no event in it is too long.
fn bounded(
    response: reqwest::Response,
) -> impl Stream<Item = Result<bytes::Bytes, std::io::Error>> + Send {
    let mut size = 0_usize;
    response.bytes_stream().map(move |piece| {
        let piece = piece.map_err(std::io::Error::other)?;
        let ends_event = piece.windows(2).rposition(|pair| pair == b"\n\n");
        size = match ends_event {
            Some(end) => piece.len() - end,
            None => size + piece.len(),
        };
        if size > MAX_EVENT {
            return Err(std::io::Error::other("an event is too long"));
        }
        Ok(piece)
    })
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseFailure;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SseFailure>> + Send + 'static {
        let (requests, endpoint) = (self.requests.clone(), self.endpoint.clone());
        async move {
            let body = serde_json::to_vec(&item)
                .map_err(|error| SseFailure::Network(error.to_string()))?;
            requests.send(&endpoint, Some(&body)).await.map(|_| ())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        for _ in 0..MAX_GARBAGE {
            let event = self.events.as_mut()?.next().await?.ok()?;
            if event.event.as_deref().is_none_or(|kind| kind == "message")
                && let Some(message) = event.data.and_then(|data| serde_json::from_str(&data).ok())
            {
                return Some(message);
            }
        }
        let fault = &self.requests.fault;
        fault.set_protocol("it sends events that are no messages");
        None
    }

    async fn close(&mut self) -> Result<(), SseFailure> {
        self.events = None;
        Ok(())
    }
}
