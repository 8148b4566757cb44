//! Real shells, here and elsewhere.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod background;
mod crash;
mod docker_create;
mod docker_world;
mod foreground;
mod killing;
mod output;
mod real_docker_life;
mod remote;
mod sessions;
mod surroundings;
mod world;
