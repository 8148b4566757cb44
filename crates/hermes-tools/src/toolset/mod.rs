//! Toolsets: the names by which tools are switched on and off, and what a conversation gets of them.

mod selection;
mod table;

pub use selection::{ToolOffer, ToolSelection};
pub use table::{TOOLSET_NAMES, basic_toolsets};
