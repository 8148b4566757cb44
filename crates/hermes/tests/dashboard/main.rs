//! `hermes dashboard` as browsers and attackers meet it: the real program in a home of its own.
//!
//! `// gateway N` names the acceptance check of the chapter on the gateway and the dashboard.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::string_slice,
    reason = "tests access files and processes directly"
)]

mod api;
mod bad_requests;
mod board;
mod client;
mod gate;
mod local;
mod oidc;
mod plugin_tabs;
mod review;
mod server;
mod terminal;
