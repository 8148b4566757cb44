//! Real shells, on this machine and behind a transport.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod background;
mod crash;
mod foreground;
mod guard;
mod killing;
mod output;
mod prepared_shells;
mod remote;
mod sessions;
mod surroundings;
mod world;
