//! From `tracing` to the log files. Spans give the session, events give the rest.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

use crate::logger_name::{is_own_target, logger_name};
use crate::{Level, LogSettings, LogWriter};

/// The field of a span or event that names the session.
const SESSION: &str = "session";

/// Makes `tracing` log into the files, for the whole process.
pub fn init(settings: LogSettings) {
    let layer = LogLayer::new(LogWriter::new(settings));
    let installed = tracing::subscriber::set_global_default(Registry::default().with(layer));
    // A second call is a mistake that must not cost the user the command.
    drop(installed);
}

/// Turns events into log records, written by the thread that logs.
#[derive(Debug)]
pub struct LogLayer {
    writer: LogWriter,
}

/// The session a span was opened for.
struct SpanSession(String);

impl LogLayer {
    /// A layer that writes these files.
    pub fn new(writer: LogWriter) -> Self {
        Self { writer }
    }

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
        self.writer
            .append(level, &logger, session.as_deref(), &message);
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
            // Writing to a string cannot fail.
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
            // Already in a form that shows where it ends; writing to a string cannot fail.
            let _: fmt::Result = write!(self.others, " {}={text}", field.name());
        }
    }
}
