//! The API server: conversations with a profile's agent in the formats of OpenAI's Chat Completions
//! and Responses, runs that go on by themselves, and sessions as resources.
//!
//! [`ApiServer`] is hosted by a long-running process, which it knows as an [`ApiHost`]. Connections
//! are served on one thread; every turn has its own, and every conversation is opened by
//! `hermes-runtime`. Nothing here reads a terminal, and no state that matters lives in memory only.

mod about;
mod active_runs;
mod app;
mod call;
mod chat;
mod clock;
mod content;
mod database;
mod embedded;
mod guard;
mod host;
mod http;
mod idempotency;
mod jobs;
mod ledger;
mod media;
mod metrics;
mod open_paths;
mod outcome;
mod preview;
mod recovery;
mod repeated;
mod response_store;
mod responses;
mod routes;
mod runs;
mod server;
mod sessions;
mod settings;
mod turn;

pub use embedded::EmbeddedRuns;
pub use host::ApiHost;
pub use server::{ApiServer, BindError};
pub use settings::{ApiSettings, SettingsError};
