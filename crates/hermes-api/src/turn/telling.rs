//! The two ways a client hears of a turn: whole at its end, or piece by piece.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use hermes_agent::{TurnOutcome, TurnResult};
use tokio::sync::oneshot;

use super::control::{StopCause, TurnControl};
use super::order::{TurnEnd, TurnOrder, TurnSink, Update};
use super::run::Turns;
use crate::http::{ApiError, EventWriter, event_response, event_stream};

/// Remembers of a turn what its result does not tell.
pub(crate) trait Collect: Default + Send + 'static {
    fn update(&mut self, update: &Update<'_>);
}

impl Collect for () {
    fn update(&mut self, _: &Update<'_>) {}
}

/// Writes a turn as events.
pub(crate) trait Format: Send + 'static {
    fn update(&mut self, update: Update<'_>, events: &mut Vec<Bytes>);

    /// The last events.
    fn finish(self, result: &TurnResult, events: &mut Vec<Bytes>);
}

/// Stops the turn of a client that has gone.
struct StopWhenDropped(Option<Arc<TurnControl>>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        if let Some(control) = self.0.take() {
            control.stop(StopCause::Client);
        }
    }
}

fn lost() -> ApiError {
    ApiError::internal("the turn ended without a word; the log has the reason")
}

struct WholeSink<C> {
    collected: C,
    sender: oneshot::Sender<(TurnEnd, C)>,
}

impl<C: Collect> TurnSink for WholeSink<C> {
    fn update(&mut self, update: Update<'_>) -> bool {
        self.collected.update(&update);
        !self.sender.is_closed()
    }

    fn finish(self: Box<Self>, end: TurnEnd) {
        // A client that has gone wants no answer.
        drop(self.sender.send((end, self.collected)));
    }
}

struct StreamSink<F> {
    /// Told the session once the turn begins.
    begun: Option<oneshot::Sender<Result<String, ApiError>>>,
    writer: EventWriter,
    format: F,
}

impl<F: Format> TurnSink for StreamSink<F> {
    fn update(&mut self, update: Update<'_>) -> bool {
        if let Update::Began { session } = &update
            && let Some(begun) = self.begun.take()
        {
            drop(begun.send(Ok((*session).to_owned())));
        }
        let mut events = Vec::new();
        self.format.update(update, &mut events);
        events.into_iter().all(|event| self.writer.write(event))
    }

    fn finish(mut self: Box<Self>, end: TurnEnd) {
        match end {
            Ok(result) => {
                let mut events = Vec::new();
                self.format.finish(&result, &mut events);
                for event in events {
                    self.writer.write(event);
                }
            }
            Err(error) => {
                if let Some(begun) = self.begun.take() {
                    drop(begun.send(Err(error)));
                }
            }
        }
    }
}

impl Turns {
    /// Takes a turn and waits for its end. A caller that waits no longer ends it.
    pub(crate) async fn whole<C: Collect>(
        &self,
        order: TurnOrder,
    ) -> Result<(Box<TurnResult>, C), ApiError> {
        let control = Arc::new(TurnControl::default());
        let mut watched = StopWhenDropped(Some(Arc::clone(&control)));
        let (sender, receiver) = oneshot::channel();
        let sink = WholeSink {
            collected: C::default(),
            sender,
        };
        self.begin(order, Arc::clone(&control), Box::new(sink))
            .await?;
        let told = receiver.await;
        watched.0 = None;
        let (end, collected) = told.map_err(|_| lost())?;
        let result = end?;
        let is_cut_off = result.outcome == TurnOutcome::Interrupted
            && control.cause() == Some(StopCause::Server);
        if is_cut_off {
            return Err(ApiError::cut_off(result.session_id.as_str()));
        }
        Ok((result, collected))
    }

    /// Takes a turn whose events are the answer. Gives the session as well.
    pub(crate) async fn streamed(
        &self,
        order: TurnOrder,
        format: impl Format,
    ) -> Result<(Response, String), ApiError> {
        let control = Arc::new(TurnControl::default());
        let watched = Arc::clone(&control);
        let (writer, body) = event_stream(Box::new(move || watched.stop(StopCause::Client)));
        let (begun, session) = oneshot::channel();
        let sink = StreamSink {
            begun: Some(begun),
            writer,
            format,
        };
        self.begin(order, control, Box::new(sink)).await?;
        let session = session.await.map_err(|_| lost())??;
        Ok((event_response(body), session))
    }
}
