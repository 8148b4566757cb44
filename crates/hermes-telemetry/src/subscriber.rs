//! From `tracing` to the log files. Spans give the session, events give the rest.

use std::fmt::{self, Write};
use std::sync::Arc;

use jiff::Timestamp;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

use crate::line::LogRecord;
use crate::logger_name::{is_own_target, logger_name};
use crate::queue::LogQueue;
use crate::{Level, LogDelivery, LogSettings, LogStats, LogWriter};

/// The field of a span or event that names the session.
const SESSION: &str = "session";

/// Flushes the log when dropped; keep it until the end of `main`.
#[derive(Debug)]
#[must_use = "dropping the guard ends queued logging"]
pub struct LogGuard {
    writer: LogWriter,
    queue: Option<Arc<LogQueue>>,
    installed: bool,
}

impl LogGuard {
    /// The files, for lines that do not come from `tracing`.
    pub fn writer(&self) -> &LogWriter {
        &self.writer
    }

    /// What was lost so far.
    pub fn stats(&self) -> LogStats {
        LogStats {
            failed: self.writer.failed(),
            dropped: self.queue.as_ref().map_or(0, |queue| queue.dropped()),
        }
    }

    /// Whether `tracing` feeds these files. It does not if a subscriber was installed before.
    pub fn is_installed(&self) -> bool {
        self.installed
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        if let Some(queue) = &self.queue {
            queue.close();
        }
    }
}

/// Makes `tracing` log into the files, for the whole process.
pub fn init(settings: LogSettings) -> LogGuard {
    let (layer, mut guard) = layer(settings);
    let subscriber = Registry::default().with(layer);
    // A second call is a mistake that must not cost the user the command.
    guard.installed = tracing::subscriber::set_global_default(subscriber).is_ok();
    guard
}

/// The layer of [`init`], to be installed by the caller.
pub fn layer(settings: LogSettings) -> (LogLayer, LogGuard) {
    let delivery = settings.delivery;
    let writer = LogWriter::new(settings);
    let queue = match delivery {
        LogDelivery::Direct => None,
        LogDelivery::Queued { capacity } => LogQueue::start(writer.clone(), capacity).map(Arc::new),
    };
    let layer = LogLayer {
        writer: writer.clone(),
        queue: queue.clone(),
    };
    let guard = LogGuard {
        writer,
        queue,
        installed: false,
    };
    (layer, guard)
}

/// Turns events into log records.
#[derive(Debug)]
pub struct LogLayer {
    writer: LogWriter,
    queue: Option<Arc<LogQueue>>,
}

/// The session a span was opened for.
struct SpanSession(String);

impl LogLayer {
    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        let Some(level) = Level::of(*metadata.level()) else {
            return false;
        };
        if metadata.is_span() {
            // Spans carry the session of the lines below them, whatever their own level.
            return is_own_target(metadata.target());
        }
        level >= self.writer.least_level()
            && (level >= Level::Warning || is_own_target(metadata.target()))
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LogLayer {
    fn enabled(&self, metadata: &Metadata<'_>, _context: Context<'_, S>) -> bool {
        self.wants(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        // Not below INFO: most spans have that level.
        Some(match self.writer.least_level() {
            Level::Debug => LevelFilter::DEBUG,
            _ => LevelFilter::INFO,
        })
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = EventFields::default();
        attributes.record(&mut fields);
        remember(fields.session, id, &context);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut fields = EventFields::default();
        values.record(&mut fields);
        remember(fields.session, id, &context);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let Some(level) = Level::of(*metadata.level()) else {
            return;
        };
        let logger = logger_name(metadata.target());
        if !self.writer.takes(level, &logger) {
            return;
        }
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let session = fields.session.or_else(|| {
            let mut spans = context.event_scope(event)?;
            spans.find_map(|span| span.extensions().get::<SpanSession>().map(|s| s.0.clone()))
        });
        let mut message = fields.message;
        message.push_str(&fields.others);
        let record = LogRecord {
            time: Timestamp::now(),
            level,
            logger: logger.into_owned(),
            session,
            message,
        };
        match &self.queue {
            None => self.writer.write(&record),
            Some(queue) => queue.send(record),
        }
    }
}

fn remember<S>(session: Option<String>, id: &Id, context: &Context<'_, S>)
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    if let (Some(session), Some(span)) = (session, context.span(id)) {
        span.extensions_mut().replace(SpanSession(session));
    }
}

/// What an event says: its message, its session, and the rest as ` key=value`.
#[derive(Default)]
struct EventFields {
    message: String,
    session: Option<String>,
    others: String,
}

impl EventFields {
    fn add(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            SESSION => self.session = Some(value.to_owned()),
            name => {
                let plain = !value.is_empty()
                    && !value.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '='));
                // Writing to a string cannot fail.
                let _: fmt::Result = if plain {
                    write!(self.others, " {name}={value}")
                } else {
                    write!(self.others, " {name}={value:?}")
                };
            }
        }
    }
}

impl Visit for EventFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(error) = source {
            let _: fmt::Result = write!(text, ": {error}");
            source = error.source();
        }
        self.add(field, &text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        if field.name() == "message" || field.name() == SESSION {
            self.add(field, &text);
        } else {
            // Already in a form that shows where it ends.
            let _: fmt::Result = write!(self.others, " {}={text}", field.name());
        }
    }
}
