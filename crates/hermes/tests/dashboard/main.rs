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

mod agents;
mod api;
mod bad_requests;
mod board;
mod chat_tab;
mod client;
mod drain;
mod gate;
mod local;
mod misconfigured;
mod nous;
mod oidc;
mod plugin_tabs;
mod provider_logins;
mod review;
mod server;
mod terminal;
