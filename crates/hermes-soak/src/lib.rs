//! Load on the API of a real gateway: streams, idle sessions, kills, and a mixture of everything for
//! minutes; and on a dashboard whose board many clients watch. Tests call it in short, `scripts/soak` in
//! full.
//!
//! Each function starts a program in a home of its own, a gateway with a model on loopback, and gives a report.
//! Nothing leaves the machine, and every loop is bounded in count or time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a test program fails by panicking, looks at files and processes from outside, and \
              compares numbers far from the limits"
)]

mod client;
mod gateway;
mod idle;
mod kills;
mod mixed;
mod model;
mod outputs;
mod runs;
mod sessions;
mod storm;
mod streams;
mod vitals;
mod watchers;

pub use idle::{IdleReport, idle_sessions};
pub use kills::{KillReport, kills};
pub use mixed::{MixedReport, mixed};
pub use outputs::{OutputsReport, tool_outputs};
pub use storm::{StormReport, storm};
pub use streams::{StreamsReport, streams};
pub use vitals::{Trend, Vitals};
pub use watchers::{WatchReport, watchers};
