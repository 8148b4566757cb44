//! Services that remember elsewhere: what they recall goes with the user's message, and they get every
//! completed turn.
//!
//! A service can be slow, refuse or be gone: it is waited for a moment only, told of in one line, and
//! the conversation goes on.

mod api;
mod backend;
mod breaker;
mod fence;
mod hindsight;
mod mem0;
mod open;
mod service;
mod settings;
mod supermemory;
#[cfg(test)]
mod test_home;

pub use backend::{CompletedTurn, Failure, MemoryBackend, MemoryTool, Said};
pub use open::open;
pub use service::MemoryService;
pub use settings::{HostedService, Identity, NotUsable};
