//! Containers of an engine that notes its calls, and of a real one.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod docker_world;
mod engine_create;
mod engine_manage;
mod engine_mounts;
mod engine_names;
mod engine_reaper;
mod engine_reuse;
mod engine_teardown;
mod real_docker_drift;
mod real_docker_life;
mod real_docker_many;
mod real_docker_podman;
