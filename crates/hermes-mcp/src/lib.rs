//! Servers of the Model Context Protocol: which there are, how they are reached, what they offer, and
//! calls of their tools.
//!
//! Everything a server says is untrusted: it is bounded, never followed, and an error of one server
//! never reaches another.

mod answer;
mod catalog;
mod catalog_store;
mod command;
mod config;
mod error;
mod failure_store;
mod fault;
mod fields;
mod host;
mod names;
pub mod oauth;
mod pool;
mod remote;
mod sampling;
mod schema;
mod server;
mod stdio;
mod token_source;

pub use answer::{Answer, Blob};
pub use catalog::{Catalog, CatalogTool, OfferedTool, Operation};
pub use catalog_store::forget as forget_catalog;
pub use config::{
    Auth, ClientCertificate, ConfiguredServers, RemoteConfig, ServerConfig, StdioConfig,
    ToolFilter, Transport, Verify,
};
pub use error::Error;
pub use failure_store::forget as forget_failures;
pub use fields::ConfigError;
pub use host::ServerHost;
pub use names::{tool_name, toolset_name};
pub use pool::{McpPool, PooledServer};
pub use sampling::{SampleRequest, Sampler, SamplingConfig, SamplingLog};
pub use server::{Discovery, ServerState, ServerStatus};
pub use token_source::{NeedsLogin, TokenFuture, TokenSource};
