//! The MCP servers of a conversation: what they need of this program, and their tools.

mod host;
mod tools;

pub(crate) use host::server_host;
pub(crate) use tools::McpOffer;
pub use tools::{configured_servers, separate_server};
