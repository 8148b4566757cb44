//! The server as clients meet it: real connections, real turns of the replay provider.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and looks at files directly"
)]

mod admission;
mod bad_clients;
mod chat;
mod client;
mod jobs;
mod limits;
mod responses;
mod runs;
mod sessions;
mod shells;
mod world;
