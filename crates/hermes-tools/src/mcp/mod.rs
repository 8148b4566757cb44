//! Tools of MCP servers.

mod blobs;
mod result_images;
mod tool;

pub use result_images::{ResultImage, result_images};
pub use tool::McpTool;
