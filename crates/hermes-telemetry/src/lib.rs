//! Logging: files that several processes share, rotate and redact, the `tracing` subscriber that
//! feeds them, and the reader behind `hermes logs`.
//!
//! Three promises hold everywhere in this crate. Nothing is written before a line is logged, so a
//! command that logs nothing leaves no trace. Nothing that goes wrong here reaches the user or
//! stops the work; it is counted. And no line reaches a file before the redactor has seen it.

mod best_effort;
mod contained;
mod error;
mod level;
mod line;
mod logger_name;
pub mod reader;
mod record_head;
mod rotating;
mod settings;
mod subscriber;
mod writer;

pub use best_effort::best_effort;
pub use contained::{contained, is_contained};
pub use error::ArgumentError;
pub use level::Level;
pub use logger_name::{Component, logger_name};
pub use settings::{LogMode, LogSettings, Zone};
pub use subscriber::{LogLayer, init};
pub use writer::LogWriter;
