//! Reading the logs back: the names people type, the filters, the last lines, and following.
//!
//! The reader changes nothing. Its memory is bounded by what it shows, however large the files are.

mod chain;
mod error;
mod filter;
mod follow;
mod name;
mod query;
mod tail;
mod tracked_file;

pub use error::ReadError;
pub use follow::{Follower, POLL_INTERVAL};
pub use name::{LogFile, LogName, list};
pub use query::{LogQuery, parse_age};
pub use tail::LogReader;
