//! The `hermes` program as its users meet it: the real binary, in a home of its own.
//!
//! `// check N` names the acceptance check of the chapter on homes, profiles and services that a
//! test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod account_logins;
mod agents;
mod archives;
mod auth;
mod backup;
mod bad_homes;
mod bad_settings;
mod command_line;
mod concurrent;
mod config_values;
mod config_writes;
mod copilot;
mod demo;
mod doctor;
mod dotenv;
mod edit;
mod fallback;
mod formats_by_model;
mod gateway_stand_in;
mod json_shapes;
mod login_certificates;
mod logins;
mod logs;
mod managed;
mod profiles;
mod selection;
mod settings_in_effect;
mod setup;
mod skills;
mod ways_on;
// What tests tell the program about the machine, and the hook that kills it, exist in debug builds
// only.
#[cfg(debug_assertions)]
mod file_modes;
#[cfg(debug_assertions)]
mod killed;

use hermes_testkit::TestHome;

/// A user who has never started the program.
fn fresh() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_hermes"))
}

/// A user whose home has all its directories, and this `config.yaml`.
fn configured(config: &str) -> TestHome {
    let home = fresh();
    home.run(["config", "set", "timezone", "UTC"]).succeeds();
    home.put("config.yaml", config);
    home
}

/// A user with a profile `coder`.
fn with_coder() -> TestHome {
    let home = fresh();
    home.run(["profile", "create", "coder"]).succeeds();
    home
}
