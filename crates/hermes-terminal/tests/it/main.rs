//! Real shells, here and elsewhere.
//! The backends with real shells and a real server.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod background;
mod crash;
mod docker_world;
mod engine_create;
mod engine_manage;
mod engine_reaper;
mod engine_reuse;
mod engine_teardown;
mod foreground;
mod killing;
mod output;
mod prepared_shells;
mod real_docker_drift;
mod real_docker_life;
mod real_docker_many;
mod real_docker_podman;
mod remote;
mod sessions;
mod ssh_bad_files;
mod ssh_connection;
mod ssh_files;
mod ssh_world;
mod surroundings;
mod world;
