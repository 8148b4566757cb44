//! Gateways as services of a machine, with its real service manager.
//!
//! `// check N` names the acceptance check of the chapter on profiles and services that a test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests look at machines from outside"
)]

mod container;
mod executed;
mod machine;
mod s6_abuse;
mod s6_boot;
mod s6_logs;
mod s6_profiles;
mod s6_run;
mod s6_slots;
mod systemd_system;
mod systemd_units;
mod systemd_user;
