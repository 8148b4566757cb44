//! One server through its life.

mod breaker;
mod closing;
mod connection;
mod handler;
mod keeper;
mod lifecycle;
mod open;
mod request;

pub(crate) use lifecycle::Server;
pub use lifecycle::{Discovery, ServerState, ServerStatus};
