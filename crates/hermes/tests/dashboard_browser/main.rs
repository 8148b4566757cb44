//! The dashboard's pages in a real browser: Chromium, driven over its debugging protocol.

mod accessibility;
mod board;
mod browser;
mod chat;
mod hostile;
mod pages;
mod served;
mod session;
mod settings;
