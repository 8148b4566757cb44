//! The events of a run, for any number of readers, from any point on.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use tokio::sync::watch;

use crate::active_runs::{Run, RunEvent};

/// A comment tells that the connection lives after so much silence.
const SILENCE: Duration = Duration::from_secs(30);

/// What a reader waits for: how to go on listening, and whether there is news.
type Waiting = Pin<Box<dyn Future<Output = (watch::Receiver<u64>, bool)> + Send>>;

/// The body of an answer with the events of a run.
pub(super) struct RunEvents {
    run: Arc<Run>,
    /// The last event that was read.
    last: u64,
    ready: VecDeque<RunEvent>,
    waiting: Option<Waiting>,
}

impl RunEvents {
    pub(super) fn after(run: Arc<Run>, last: u64) -> Self {
        let listener = run.listen();
        Self {
            run,
            last,
            ready: VecDeque::new(),
            waiting: Some(Box::pin(std::future::ready((listener, true)))),
        }
    }
}

async fn wait(mut listener: watch::Receiver<u64>) -> (watch::Receiver<u64>, bool) {
    let news = tokio::time::timeout(SILENCE, listener.changed()).await;
    (listener, news.is_ok())
}

impl http_body::Body for RunEvents {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = |text: String| Poll::Ready(Some(Ok(Frame::data(Bytes::from(text)))));
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.last = event.number;
                return frame(format!("id: {}\ndata: {}\n\n", event.number, event.text));
            }
            let Some(waiting) = self.waiting.as_mut() else {
                return Poll::Ready(None);
            };
            let (listener, has_news) = match waiting.as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(waited) => waited,
            };
            if !has_news {
                self.waiting = Some(Box::pin(wait(listener)));
                return frame(": keepalive\n\n".to_owned());
            }
            let (events, is_over) = self.run.events_after(self.last);
            self.ready.extend(events);
            if is_over && self.ready.is_empty() {
                self.waiting = None;
                return frame(": stream closed\n\n".to_owned());
            }
            self.waiting = Some(if is_over {
                Box::pin(std::future::ready((listener, true)))
            } else {
                Box::pin(wait(listener))
            });
        }
    }
}
