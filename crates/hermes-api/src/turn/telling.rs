//! The two ways a client hears of a turn: whole at its end, or piece by piece.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::response::Response;
use bytes::Bytes;
use hermes_agent::{Acknowledged, TurnOutcome, TurnResult};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::control::{StopCause, TurnControl};
use super::order::{TurnEnd, TurnOrder, TurnSink, Update};
use super::run::Turns;
use crate::http::{ApiError, EventWriter, event_response, event_stream};
use crate::media::MediaRules;

/// Pieces of text within this time become one event, where the format wants that.
const TOGETHER: Duration = Duration::from_millis(50);

/// Remembers of a turn what its result does not tell.
pub(crate) trait Collect: Default + Send + 'static {
    fn update(&mut self, update: &Update<'_>);
}

impl Collect for () {
    fn update(&mut self, _: &Update<'_>) {}
}

/// Writes a turn as events.
pub(crate) trait Format: Send + 'static {
    /// Whether pieces of text that come close together become one event.
    const IS_BATCHED: bool = false;

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
    media: MediaRules,
    collected: C,
    sender: oneshot::Sender<(TurnEnd, C)>,
}

impl<C: Collect> TurnSink for WholeSink<C> {
    fn update(&mut self, update: Update<'_>) -> bool {
        self.collected.update(&update);
        !self.sender.is_closed()
    }

    fn finish(self: Box<Self>, mut end: TurnEnd) {
        if let Ok(result) = &mut end {
            let text = result.final_response.take();
            result.final_response = text.map(|text| self.media.with_images(text));
        }
        // A client that has gone wants no answer.
        drop(self.sender.send((end, self.collected)));
    }
}

struct StreamSink<F: Format> {
    /// Told the session once the turn begins.
    begun: Option<oneshot::Sender<Result<String, ApiError>>>,
    events: Arc<Mutex<EventsOfTurn<F>>>,
    /// Where the end of a pause in the text is waited for.
    runtime: Handle,
    control: Arc<TurnControl>,
}

/// The events of a turn, on their way to the client.
struct EventsOfTurn<F> {
    writer: EventWriter,
    /// None once the turn is over.
    format: Option<F>,
    /// Text that was not written yet.
    text: String,
    /// When text was written last.
    written: Option<Instant>,
    /// Whether somebody will write the text soon.
    is_awaited: bool,
}

impl<F: Format> EventsOfTurn<F> {
    /// Writes the text that has come together; `false` if nobody reads it.
    fn write_text(&mut self) -> bool {
        if self.text.is_empty() {
            return true;
        }
        self.written = Some(Instant::now());
        let text = std::mem::take(&mut self.text);
        self.write(Update::Text(&text))
    }

    fn write(&mut self, update: Update<'_>) -> bool {
        let mut events = Vec::new();
        if let Some(format) = &mut self.format {
            format.update(update, &mut events);
        }
        events.into_iter().all(|event| self.writer.write(event))
    }
}

fn locked<F>(events: &Mutex<EventsOfTurn<F>>) -> MutexGuard<'_, EventsOfTurn<F>> {
    events.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F: Format> StreamSink<F> {
    /// Writes a piece of text now, or together with those that follow within a moment.
    fn text(&self, text: &str) -> bool {
        let mut events = locked(&self.events);
        events.text.push_str(text);
        let since = events.written.map(|written| written.elapsed());
        let wait = since.map_or(Duration::ZERO, |since| TOGETHER.saturating_sub(since));
        if !F::IS_BATCHED || wait.is_zero() {
            return events.write_text();
        }
        if !events.is_awaited {
            events.is_awaited = true;
            let (later, control) = (Arc::clone(&self.events), Arc::clone(&self.control));
            self.runtime.spawn(async move {
                tokio::time::sleep(wait).await;
                let mut events = locked(&later);
                events.is_awaited = false;
                if !events.write_text() {
                    control.stop(StopCause::Client);
                }
            });
        }
        true
    }
}

impl<F: Format> TurnSink for StreamSink<F> {
    fn update(&mut self, update: Update<'_>) -> bool {
        if let Update::Began { session } = &update
            && let Some(begun) = self.begun.take()
        {
            // A client that has gone is noticed by the next event.
            drop(begun.send(Ok((*session).to_owned())));
        }
        if let Update::Text(text) = update {
            return self.text(text);
        }
        let mut events = locked(&self.events);
        events.write_text() && events.write(update)
    }

    fn finish(mut self: Box<Self>, end: TurnEnd) {
        match end {
            Ok(result) => {
                let mut events = locked(&self.events);
                events.write_text();
                let mut last = Vec::new();
                if let Some(format) = events.format.take() {
                    format.finish(&result, &mut last);
                }
                for event in last {
                    events.writer.write(event);
                }
            }
            Err(error) => {
                if let Some(begun) = self.begun.take() {
                    // A client that has gone wants no answer.
                    drop(begun.send(Err(error)));
                }
            }
        }
    }
}

impl<F: Format> Drop for StreamSink<F> {
    /// The stream ends with the turn, also while a last piece of text is waited for.
    fn drop(&mut self) {
        let mut events = locked(&self.events);
        events.write_text();
        events.format = None;
        events.writer.end();
    }
}

impl Turns {
    /// Takes a turn and waits for its end. A caller that waits no longer ends it.
    pub(crate) async fn whole<C: Collect>(
        &self,
        mut order: TurnOrder,
    ) -> Result<(Box<TurnResult>, C), ApiError> {
        let control = Arc::new(TurnControl::default());
        let mut watched = StopWhenDropped(Some(Arc::clone(&control)));
        let (sender, receiver) = oneshot::channel();
        let sink = WholeSink {
            media: self.media_rules(),
            collected: C::default(),
            sender,
        };
        order.input.acknowledged = Acknowledged::AtTheEnd;
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
            events: Arc::new(Mutex::new(EventsOfTurn {
                writer,
                format: Some(format),
                text: String::new(),
                written: None,
                is_awaited: false,
            })),
            runtime: Handle::current(),
            control: Arc::clone(&control),
        };
        self.begin(order, control, Box::new(sink)).await?;
        let session = session.await.map_err(|_| lost())??;
        Ok((event_response(body), session))
    }
}
