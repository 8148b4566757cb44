//! WebSockets: the handshake, and a connection that notices when its client has gone.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};

use super::error::ApiError;

/// Largest message of a client.
const MAX_MESSAGE: usize = 1 << 20;
/// How long a client may take to accept a message.
const SEND_LIMIT: Duration = Duration::from_secs(10);
/// A client is asked after so much silence whether it is there.
const SILENCE: Duration = Duration::from_secs(20);

/// A WebSocket that is about to open.
pub(crate) struct Handshake {
    upgrade: OnUpgrade,
    accept: String,
}

impl Handshake {
    /// Checks that a request asks for a WebSocket.
    pub(crate) fn of(headers: &HeaderMap, upgrade: Option<OnUpgrade>) -> Result<Self, ApiError> {
        let text = |name: header::HeaderName| headers.get(name)?.to_str().ok();
        let wanted =
            text(header::UPGRADE).is_some_and(|word| word.eq_ignore_ascii_case("websocket"));
        let version = text(header::SEC_WEBSOCKET_VERSION) == Some("13");
        let key = text(header::SEC_WEBSOCKET_KEY);
        match (wanted && version, key, upgrade) {
            (true, Some(key), Some(upgrade)) => Ok(Self {
                upgrade,
                accept: derive_accept_key(key.as_bytes()),
            }),
            _ => Err(ApiError::new(
                StatusCode::UPGRADE_REQUIRED,
                "this is a WebSocket; ask for an upgrade to version 13",
            )
            .header(header::UPGRADE, "websocket".to_owned())),
        }
    }

    /// The answer that opens it, and what becomes the connection.
    pub(crate) fn accept(self) -> (Response, OnUpgrade) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        if let Ok(accept) = HeaderValue::from_str(&self.accept) {
            headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
        }
        (response, self.upgrade)
    }
}

/// An open WebSocket.
pub(crate) struct Socket {
    stream: WebSocketStream<TokioIo<Upgraded>>,
    /// When the client was last heard.
    heard: Instant,
    /// Whether it was asked since then.
    is_asked: bool,
}

/// What a client sent.
pub(crate) enum Received {
    Text(String),
    Binary(bytes::Bytes),
    /// A sign of life.
    Nothing,
    /// The client has gone, or does not answer.
    Gone,
}

impl Socket {
    pub(crate) async fn open(upgrade: OnUpgrade) -> Option<Self> {
        let upgraded = upgrade.await.ok()?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE));
        let io = TokioIo::new(upgraded);
        let stream = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        Some(Self {
            stream,
            heard: Instant::now(),
            is_asked: false,
        })
    }

    /// Waits for the client. After a while of silence it is asked whether it is there, and after a
    /// second one it counts as gone. Nothing is lost when the wait is given up.
    pub(crate) async fn receive(&mut self) -> Received {
        let until = self.heard + SILENCE * if self.is_asked { 2 } else { 1 };
        match tokio::time::timeout_at(until, self.stream.next()).await {
            Err(_) if self.is_asked => Received::Gone,
            Err(_) => {
                self.is_asked = true;
                let ping = self.send_message(Message::Ping(bytes::Bytes::new())).await;
                if ping {
                    Received::Nothing
                } else {
                    Received::Gone
                }
            }
            Ok(None | Some(Err(_) | Ok(Message::Close(_)))) => Received::Gone,
            Ok(Some(Ok(message))) => {
                (self.heard, self.is_asked) = (Instant::now(), false);
                match message {
                    Message::Text(text) => Received::Text(text.to_string()),
                    Message::Binary(bytes) => Received::Binary(bytes),
                    Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => {
                        Received::Nothing
                    }
                }
            }
        }
    }

    /// Sends a text; `false` if the client does not take it.
    pub(crate) async fn send_text(&mut self, text: String) -> bool {
        self.send_message(Message::Text(text.into())).await
    }

    /// Sends bytes; `false` if the client does not take them.
    pub(crate) async fn send_binary(&mut self, bytes: bytes::Bytes) -> bool {
        self.send_message(Message::Binary(bytes)).await
    }

    async fn send_message(&mut self, message: Message) -> bool {
        matches!(
            timeout(SEND_LIMIT, self.stream.send(message)).await,
            Ok(Ok(()))
        )
    }

    /// Says goodbye, without waiting for an answer.
    pub(crate) async fn close(mut self) {
        let limit = Duration::from_millis(200);
        // A client that has gone needs no goodbye.
        drop(timeout(limit, self.stream.close(None)).await);
    }
}
