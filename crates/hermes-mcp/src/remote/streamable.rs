//! The streamable HTTP transport, with a token from elsewhere on every request.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use hermes_secret::SecretString;
use http::{HeaderName, HeaderValue};
use reqwest::Client;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::client::headers;
use crate::config::RemoteConfig;
use crate::error::Error;
use crate::fault::Fault;
use crate::token_source::TokenSource;

/// Requests to one server at once.
const MAX_REQUESTS: usize = 16;
/// Longest event: a resource of 50 MiB as base64 and some room.
const MAX_EVENT: usize = 72 << 20;

type Failure = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// The transport to a server.
pub(crate) fn streamable(
    remote: &RemoteConfig,
    client: Client,
    tokens: Option<Arc<dyn TokenSource>>,
    fault: Fault,
) -> Result<StreamableHttpClientTransport<TokenClient>, Error> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(remote.url.clone())
        .max_concurrent_requests(MAX_REQUESTS);
    config.custom_headers = headers(remote)?;
    config.max_sse_event_size = MAX_EVENT;
    let client = TokenClient {
        client,
        tokens,
        fault,
    };
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// An HTTP client that adds the token, and asks for another when it is refused.
#[derive(Clone)]
pub(crate) struct TokenClient {
    client: Client,
    tokens: Option<Arc<dyn TokenSource>>,
    fault: Fault,
}

impl TokenClient {
    async fn bearer(&self) -> Option<SecretString> {
        match &self.tokens {
            Some(tokens) => tokens.bearer().await,
            None => None,
        }
    }

    /// The token to repeat a refused request with.
    async fn next_bearer(
        &self,
        failure: &Failure,
        used: Option<&SecretString>,
    ) -> Option<SecretString> {
        let tokens = self.tokens.as_ref()?;
        if !matches!(failure, StreamableHttpError::AuthRequired(_)) {
            return None;
        }
        match tokens.refused(used).await {
            Ok(()) => tokens.bearer().await,
            Err(needs_login) => {
                self.fault.set_login(needs_login.0);
                None
            }
        }
    }

    /// Makes a request with the token, and once more with another one if the first was refused.
    async fn with_token<T, F>(&self, request: impl Fn(Option<String>) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let token = self.bearer().await;
        match request(exposed(token.as_ref())).await {
            Ok(answer) => Ok(answer),
            Err(failure) => match self.next_bearer(&failure, token.as_ref()).await {
                Some(next) => request(exposed(Some(&next))).await,
                None => Err(failure),
            },
        }
    }
}

fn exposed(token: Option<&SecretString>) -> Option<String> {
    token.map(|token| token.expose().to_owned())
}

impl StreamableHttpClient for TokenClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        self.post_message_with_max_sse_event_size(uri, message, session, None, headers, MAX_EVENT)
            .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
        max: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        self.with_token(|token| {
            self.client.post_message_with_max_sse_event_size(
                Arc::clone(&uri),
                message.clone(),
                session.clone(),
                token,
                headers.clone(),
                max,
            )
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        self.with_token(|token| {
            let (uri, session) = (Arc::clone(&uri), Arc::clone(&session));
            self.client
                .delete_session(uri, session, token, headers.clone())
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        self.get_stream_with_max_sse_event_size(uri, session, last_event, None, headers, MAX_EVENT)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: Headers,
        max: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        self.with_token(|token| {
            self.client.get_stream_with_max_sse_event_size(
                Arc::clone(&uri),
                session.clone(),
                last_event.clone(),
                token,
                headers.clone(),
                max,
            )
        })
        .await
    }
}
