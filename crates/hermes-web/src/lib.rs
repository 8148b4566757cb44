//! The dashboard: pages and an API for one installation, behind a gate that fails closed.
//!
//! [`Dashboard`] listens and answers until it is told to stop. What it may do is decided once, by
//! [`DashboardSettings`], before a socket exists. Every truth that it shows lives in files and databases
//! of other crates.

mod action_registry;
mod admission;
mod api;
mod app;
mod call;
mod channels;
mod chat_runs;
mod chat_tab;
mod gate;
mod http;
mod kanban;
mod kept_boards;
mod live;
mod masking;
mod openapi;
mod pages;
mod plugin_tabs;
mod provider_logins;
mod remote_gateway;
mod routes;
mod samples;
mod server;
mod session_readers;
mod settings;
mod shared_reads;

pub use hermes_serve::BindError;
pub use server::Dashboard;
pub use settings::{DashboardOptions, DashboardSettings, SettingsError};
