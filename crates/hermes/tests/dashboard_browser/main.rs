//! The dashboard's pages in a real browser: Chromium, driven over its debugging protocol.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests look at files and run programs directly"
)]

mod accessibility;
mod board;
mod browser;
mod chat;
mod hostile;
mod pages;
mod review;
mod served;
mod session;
mod settings;
mod stranger;
