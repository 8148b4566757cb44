//! Real shells, here and elsewhere.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod background;
mod crash;
mod foreground;
mod killing;
mod output;
mod remote;
mod sessions;
mod surroundings;
mod world;
