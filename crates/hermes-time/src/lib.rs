//! Local time and durations: which zone the machine is in, and how people write spans of time.

mod duration;
mod zone;

pub use duration::{ago, parse_seconds};
pub use zone::{local, local_seconds, named, now};
