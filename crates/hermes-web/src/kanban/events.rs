//! The events of a board as they happen: `/events` as a WebSocket, as the reference has it, and
//! `/events/stream` as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hermes_board::boards::Board;
use hermes_serve::KEEPALIVE;
use hyper::header::HeaderName;
use tokio::sync::watch;

use super::opened::{board_home, chosen, options};
use crate::app::{App, off_loop, stopped};
use crate::call::{Answered, Call};
use crate::http::{ApiError, Handshake, Received, Socket, event, event_response};
use crate::live::{FeedRequest, Next, Subscription, missed};

/// A sign of life after so much silence.
const SILENCE: Duration = Duration::from_secs(20);
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Where a client goes on: after this event. `None` means from now on.
fn since(call: &Call) -> Option<i64> {
    let header = call.header(&LAST_EVENT).map(str::to_owned);
    let text = header.or_else(|| call.query("since"))?;
    // Like the reference, which takes everything else for the beginning.
    Some(text.trim().parse().unwrap_or(0))
}

/// Joins the feed of the board, and gets what was missed.
async fn joined(
    call: &Call,
) -> Result<(Subscription, VecDeque<(i64, serde_json::Value)>), ApiError> {
    let app = Arc::clone(&call.app);
    let context = call.context();
    let home = board_home(&context);
    let board: Board = chosen(call, &home)?;
    let after = since(call);
    let options = options(&context);
    off_loop(move || {
        // First the feed, then what was missed: nothing falls in between.
        let redacting = Arc::clone(&app);
        let request = FeedRequest {
            home: &home,
            board: &board,
            options: options.clone(),
            redactor: Box::new(move || redacting.redactor()),
        };
        let subscription = Subscription::join(&app.feeds, request)?;
        let mut waiting = VecDeque::new();
        if let Some(after) = after {
            for batch in missed(&board, &options, &app.redactor(), after)? {
                waiting.extend(batch.after(after).map(|frame| (batch.cursor, frame)));
            }
        }
        Ok((subscription, waiting))
    })
    .await
}

/// `GET /events/stream`.
pub(crate) async fn events(call: Call) -> Answered {
    let (subscription, waiting) = joined(&call).await?;
    let state = Watching {
        stopping: call.app.stopping(),
        seen: since(&call).unwrap_or(0),
        subscription,
        waiting,
    };
    let frames = stream::unfold(state, |mut state| async move {
        let frame = state.frame().await?;
        Some((Ok::<Bytes, Infallible>(frame), state))
    });
    Ok(event_response(frames))
}

/// A client of the event stream.
struct Watching {
    subscription: Subscription,
    waiting: VecDeque<(i64, serde_json::Value)>,
    stopping: watch::Receiver<bool>,
    seen: i64,
}

impl Watching {
    /// The next frame; `None` at the end.
    async fn frame(&mut self) -> Option<Bytes> {
        loop {
            if let Some((cursor, frame)) = self.waiting.pop_front() {
                self.seen = self.seen.max(cursor);
                return Some(event("board", cursor, &frame));
            }
            let next = tokio::select! {
                next = self.subscription.next() => next,
                () = tokio::time::sleep(SILENCE) => return Some(KEEPALIVE),
                () = stopped(&mut self.stopping) => return None,
            };
            match next {
                Next::Batch(batch) => {
                    let frame = batch.after(self.seen);
                    self.waiting
                        .extend(frame.map(|frame| (batch.cursor, frame)));
                }
                Next::End => return None,
            }
        }
    }
}

/// `GET /events`, a WebSocket.
pub(crate) async fn socket(mut call: Call) -> Answered {
    let upgrade = call.take_upgrade();
    let handshake = Handshake::of(call.headers(), upgrade)?;
    let place = call.app.sockets.clone().try_acquire_owned();
    let place = place.map_err(|_| ApiError::unavailable("too many clients watch already"))?;
    let (subscription, waiting) = joined(&call).await?;
    let (response, upgrade) = handshake.accept();
    let app = Arc::clone(&call.app);
    let seen = since(&call).unwrap_or(0);
    tokio::spawn(async move {
        if let Some(socket) = Socket::open(upgrade).await {
            serve(&app, socket, subscription, (waiting, seen)).await;
        }
        drop(place);
    });
    Ok(response)
}

async fn serve(
    app: &App,
    mut socket: Socket,
    mut subscription: Subscription,
    (waiting, mut seen): (VecDeque<(i64, serde_json::Value)>, i64),
) {
    let mut stopping = app.stopping();
    for (cursor, frame) in waiting {
        if !socket.send_text(frame.to_string()).await {
            return;
        }
        seen = seen.max(cursor);
    }
    loop {
        tokio::select! {
            next = subscription.next() => match next {
                Next::Batch(batch) => {
                    let Some(frame) = batch.after(seen) else { continue };
                    seen = seen.max(batch.cursor);
                    if !socket.send_text(frame.to_string()).await {
                        return;
                    }
                }
                Next::End => break,
            },
            received = socket.receive() => match received {
                // Whatever a client says here, there is nothing to answer.
                Received::Text(_) | Received::Binary(_) | Received::Nothing => {}
                Received::Gone => return,
            },
            () = stopped(&mut stopping) => break,
        }
    }
    socket.close().await;
}
