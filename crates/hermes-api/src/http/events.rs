//! Server-sent events: written by a turn, read by one client at its own speed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use hermes_serve::KEEPALIVE;
use http_body::Frame;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, Sleep, sleep};

/// Bytes that may wait for a reader; a slower one is let go.
const MOST_WAITING: usize = 1 << 20;
/// A comment tells that the connection lives after so much silence.
const SILENCE: Duration = Duration::from_secs(30);

/// One event.
pub(crate) fn event(name: Option<&str>, data: &Value) -> Bytes {
    let name = name.map(|name| format!("event: {name}\n"));
    Bytes::from(format!("{}data: {data}\n\n", name.unwrap_or_default()))
}

/// The writing end.
#[derive(Debug)]
pub(crate) struct EventWriter {
    /// None after the end.
    sender: Option<UnboundedSender<Bytes>>,
    waiting: Arc<AtomicUsize>,
}

impl EventWriter {
    /// Writes; `false` once nobody reads any more, or not fast enough.
    pub(crate) fn write(&self, bytes: Bytes) -> bool {
        let length = bytes.len();
        let before = self.waiting.fetch_add(length, Ordering::Relaxed);
        let has_room = before + length <= MOST_WAITING.max(length);
        let sender = self.sender.as_ref();
        has_room && sender.is_some_and(|sender| sender.send(bytes).is_ok())
    }

    /// Ends the stream.
    pub(crate) fn end(&mut self) {
        self.sender = None;
    }
}

/// What is to happen when the reader goes before the end.
pub(crate) type WhenGone = Box<dyn FnOnce() + Send>;

/// The reading end, the body of an answer.
pub(crate) struct EventBody {
    receiver: UnboundedReceiver<Bytes>,
    waiting: Arc<AtomicUsize>,
    silence: Pin<Box<Sleep>>,
    when_gone: Option<WhenGone>,
}

/// A stream of events.
pub(crate) fn event_stream(when_gone: WhenGone) -> (EventWriter, EventBody) {
    let (sender, receiver) = unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let writer = EventWriter {
        sender: Some(sender),
        waiting: Arc::clone(&waiting),
    };
    let body = EventBody {
        receiver,
        waiting,
        silence: Box::pin(sleep(SILENCE)),
        when_gone: Some(when_gone),
    };
    (writer, body)
}

impl http_body::Body for EventBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(next) = self.receiver.poll_recv(context) {
            let Some(bytes) = next else {
                self.when_gone = None;
                return Poll::Ready(None);
            };
            self.waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
            self.silence.as_mut().reset(Instant::now() + SILENCE);
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if self.silence.as_mut().poll(context).is_ready() {
            self.silence.as_mut().reset(Instant::now() + SILENCE);
            return Poll::Ready(Some(Ok(Frame::data(KEEPALIVE))));
        }
        Poll::Pending
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        if let Some(when_gone) = self.when_gone.take() {
            when_gone();
        }
    }
}

/// An answer with this body.
pub(crate) fn event_response<B>(body: B) -> Response
where
    B: http_body::Body<Data = Bytes, Error = std::convert::Infallible> + Send + 'static,
{
    hermes_serve::event_response(Body::new(body), "no-cache")
}
