//! Commands on another machine, over the user's own `ssh`.
//!
//! [`SshHost`] is the machine: it connects, keeps one connection for all who use it, brings the files
//! along that go along, and fetches back what was changed there. What runs over it is not its
//! business (`hermes_terminal::remote`).

mod client;
mod connection;
mod control;
mod diagnosis;
mod digest;
mod host;
mod mux;
mod programs;
mod settings;
mod surroundings;
mod sync;

pub use host::SshHost;
pub use programs::check_programs;
pub use settings::SshSettings;
pub use surroundings::{SshSurroundings, SshTiming};
pub use sync::PulledBack;
