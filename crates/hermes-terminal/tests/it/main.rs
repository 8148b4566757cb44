//! The local backend with real shells.
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
mod sessions;
mod surroundings;
mod world;
