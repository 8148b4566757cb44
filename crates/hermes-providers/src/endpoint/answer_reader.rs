//! Reads one answer from its connection.

use std::time::{Duration, Instant};

use hermes_proc::Wake;
use serde_json::Value;

use super::body::{BodyKind, kind_of};
use crate::byte_budget::ByteBudget;
use crate::classify::{RequestSize, classify, message_of};
use crate::error::{ErrorClass, ProviderError};
use crate::http::{Exchange, Head, Next};
use crate::lenient_json::parse_lenient;
use crate::response::StreamEvent;
use crate::route::{ApiMode, Timeouts};
use crate::wire::{CollectedAnswer, SseEvent, SseParser, decode_event, decode_whole};

/// Maximum bytes of one answer that is streamed. Every token comes with some hundred bytes around
/// it.
const MAX_ANSWER: usize = 64 << 20;

/// Maximum bytes of one answer that is not: it is parsed as a whole.
const MAX_WHOLE: usize = 16 << 20;

/// Maximum bytes read of an error.
const MAX_ERROR: usize = 64 << 10;

/// Timeout for what follows the end of the text, such as usage, and for error bodies.
const TRAILER_TIMEOUT: Duration = Duration::from_secs(10);

/// How reading ended, apart from error responses.
pub(super) enum ReadOutcome {
    Complete,
    Broken {
        /// One line without secrets.
        reason: String,
        /// Whether the server had begun to answer.
        had_begun: bool,
    },
}

/// Reads one answer.
pub(super) struct AnswerReader<'a> {
    pub(super) exchange: Exchange,
    pub(super) mode: ApiMode,
    pub(super) answer: &'a mut CollectedAnswer,
    pub(super) sink: &'a mut dyn FnMut(StreamEvent),
    pub(super) interrupt: &'a Wake,
    pub(super) timeouts: &'a Timeouts,
    pub(super) size: RequestSize,
    pub(super) streaming: bool,
    pub(super) deadline: Instant,
    pub(super) budget: &'a ByteBudget,
}

/// A partly read body.
#[derive(Default)]
struct AnswerBody {
    kind: Option<BodyKind>,
    /// Bytes so far, until the body is known to be a stream.
    bytes: Vec<u8>,
    parser: SseParser,
    read: usize,
}

impl AnswerReader<'_> {
    pub(super) fn read(mut self) -> Result<ReadOutcome, ProviderError> {
        let head = match self.next(self.head_timeout())? {
            Next::Head(head) => head,
            Next::Failed(reason) => return Ok(broken(reason, false)),
            // A retry would be redirected again.
            Next::Redirected(reason) => {
                return Err(ProviderError::new(ErrorClass::FormatError, reason));
            }
            // A head always comes first.
            _ => return Err(timeout("no answer arrived")),
        };
        if head.status >= 400 || head.status < 200 {
            return Err(self.refusal(&head));
        }
        self.read_body(&head)
    }

    fn read_body(&mut self, head: &Head) -> Result<ReadOutcome, ProviderError> {
        let mut body = AnswerBody::default();
        let mut last_piece = Instant::now();
        loop {
            let limit = if self.answer.is_complete() {
                TRAILER_TIMEOUT
            } else {
                let stall = self.body_timeout();
                stall
                    .saturating_sub(last_piece.elapsed())
                    .min(self.timeouts.read)
            };
            match self.next(limit)? {
                Next::Chunk(bytes) => {
                    body.read += bytes.len();
                    let max = match body.kind {
                        Some(BodyKind::Events) => MAX_ANSWER,
                        Some(BodyKind::Whole | BodyKind::Html) | None => MAX_WHOLE,
                    };
                    if body.read > max {
                        let what = format!("the answer is larger than {} MiB", max >> 20);
                        return Err(too_large(what));
                    }
                    self.budget.spend(bytes.len()).map_err(too_large)?;
                    if self.take(head, &mut body, &bytes)? {
                        last_piece = Instant::now();
                    }
                    if body.kind == Some(BodyKind::Events) && self.answer.is_ended() {
                        self.exchange.release();
                        return Ok(ReadOutcome::Complete);
                    }
                }
                Next::End => return self.ended(head, body),
                Next::Failed(reason) if !self.answer.is_complete() => {
                    return Ok(broken(reason, true));
                }
                Next::Quiet if !self.answer.is_complete() => {
                    return Ok(broken("the stream stalled", true));
                }
                Next::Head(_)
                | Next::Failed(_)
                | Next::Redirected(_)
                | Next::Quiet
                | Next::Interrupted => return Ok(ReadOutcome::Complete),
            }
        }
    }

    /// Consumes bytes and returns whether they contained a piece of the answer.
    fn take(
        &mut self,
        head: &Head,
        body: &mut AnswerBody,
        bytes: &[u8],
    ) -> Result<bool, ProviderError> {
        if body.kind != Some(BodyKind::Events) {
            body.bytes.extend_from_slice(bytes);
        }
        let kind = match body.kind {
            Some(kind) => kind,
            None => match kind_of(head, &body.bytes) {
                Some(kind) => *body.kind.insert(kind),
                None => return Ok(false),
            },
        };
        let first = std::mem::take(&mut body.bytes);
        match kind {
            BodyKind::Events => {
                let bytes = if first.is_empty() { bytes } else { &first };
                self.feed(&mut body.parser, bytes)
            }
            BodyKind::Html => {
                let start = first.get(..first.len().min(MAX_ERROR)).unwrap_or_default();
                let page = message_of(&String::from_utf8_lossy(start));
                Err(malformed(&format!("the answer is {page}")))
            }
            BodyKind::Whole => {
                body.bytes = first;
                Ok(true)
            }
        }
    }

    fn feed(&mut self, parser: &mut SseParser, bytes: &[u8]) -> Result<bool, ProviderError> {
        let mut events = Vec::new();
        let fed = parser.feed(bytes, &mut |event| events.push(event));
        self.decode(&events)?;
        if fed.is_err() {
            return Err(malformed("one event of the answer is larger than 16 MiB"));
        }
        Ok(!events.is_empty())
    }

    fn decode(&mut self, events: &[SseEvent]) -> Result<(), ProviderError> {
        for event in events {
            let data = event.data.trim();
            let value = match data {
                "[DONE]" => Some(Value::from(data)),
                data => parse_lenient(data),
            };
            // `None`: the truncated last line of a broken stream.
            if let Some(value) = value {
                let decoded = decode_event(self.mode, self.answer, &event.name, &value);
                self.answer.events.drain(..).for_each(&mut *self.sink);
                decoded?;
                if self.answer.has_overflowed() {
                    return Err(too_large("the answer has more than 8 MiB of content"));
                }
            }
        }
        Ok(())
    }

    /// Handles the end of the body.
    fn ended(&mut self, head: &Head, mut body: AnswerBody) -> Result<ReadOutcome, ProviderError> {
        if body.kind == Some(BodyKind::Events) {
            let mut events = Vec::new();
            body.parser.finish(&mut |event| events.push(event));
            self.decode(&events)?;
            // A closed connection is an end only if the provider said that it is complete.
            if !self.answer.is_complete() && head.ends_with_connection() {
                return Ok(broken("the connection was closed", true));
            }
            return Ok(ReadOutcome::Complete);
        }
        let text = String::from_utf8_lossy(&body.bytes);
        if text.trim().is_empty() {
            return Ok(broken("the answer was empty", true));
        }
        match parse_lenient(&text) {
            Some(value) => {
                decode_whole(self.mode, self.answer, &value).map(|()| ReadOutcome::Complete)
            }
            None if head.ends_with_connection() || text.trim_start().starts_with('{') => {
                Ok(broken("the answer was truncated", true))
            }
            None => Err(malformed(
                "the answer is neither JSON nor a stream of events",
            )),
        }
    }

    fn refusal(&mut self, head: &Head) -> ProviderError {
        let mut bytes = Vec::new();
        loop {
            match self.exchange.next(self.interrupt, TRAILER_TIMEOUT) {
                Next::Chunk(more) if bytes.len() < MAX_ERROR => bytes.extend_from_slice(&more),
                Next::Interrupted => return ProviderError::interrupted(),
                _ => break,
            }
        }
        self.exchange.release();
        classify(head, &String::from_utf8_lossy(&bytes), self.size)
    }

    fn next(&mut self, limit: Duration) -> Result<Next, ProviderError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match self.exchange.next(self.interrupt, limit.min(left)) {
            Next::Interrupted => Err(ProviderError::interrupted()),
            Next::Quiet if left <= limit => Err(timeout("the answer took too long")),
            next => Ok(next),
        }
    }

    fn head_timeout(&self) -> Duration {
        match self.body_timeout() {
            stall if self.streaming => stall.min(self.timeouts.read),
            whole => whole,
        }
    }

    fn body_timeout(&self) -> Duration {
        if self.streaming {
            self.timeouts.stall_for(self.size.tokens)
        } else {
            self.timeouts.whole_for(self.size.tokens)
        }
    }
}

fn timeout(what: &str) -> ProviderError {
    ProviderError::new(ErrorClass::Timeout, what)
}

fn broken(reason: impl Into<String>, had_begun: bool) -> ReadOutcome {
    let reason = reason.into();
    ReadOutcome::Broken { reason, had_begun }
}

fn too_large(what: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::AnswerTooLarge, what)
}

fn malformed(what: &str) -> ProviderError {
    ProviderError::new(ErrorClass::Malformed, what)
}
