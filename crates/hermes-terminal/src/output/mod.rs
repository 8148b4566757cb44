//! From the bytes a command wrote to the text a result shows: decoded, without control sequences,
//! redacted, and only then cut.

mod ansi;
mod capture;
mod collector;
mod decode;
mod live;
mod spill;
mod truncate;

pub use ansi::AnsiStripper;
pub(crate) use capture::TextTail;
pub use collector::{Collected, Collector, CollectorOptions};
pub use decode::Utf8Decoder;
pub(crate) use live::LiveOutput;
pub use truncate::{tail_from_line_start, truncate};
