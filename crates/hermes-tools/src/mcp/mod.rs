//! Tools of MCP servers.

mod blobs;
mod tool;

pub use tool::McpTool;
