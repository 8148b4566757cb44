//! Connections and files over a real SSH server.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod ssh_bad_files;
mod ssh_connection;
mod ssh_files;
mod ssh_world;
