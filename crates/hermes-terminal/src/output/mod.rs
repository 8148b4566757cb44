//! From the bytes a command wrote to the text a result shows: decoded, without control sequences,
//! redacted, and only then cut.

mod ansi;
mod capture;
mod collector;
mod decode;
mod meaning;
mod spill;
mod sudo;
mod truncate;

pub use ansi::AnsiStripper;
pub use collector::{Collected, Collector, CollectorOptions, Transform};
pub use decode::Utf8Decoder;
pub use meaning::exit_code_meaning;
pub use spill::remove_old_outputs;
pub use sudo::{password_was_rejected, sudo_hint};
pub use truncate::{tail_from_line_start, truncate};
