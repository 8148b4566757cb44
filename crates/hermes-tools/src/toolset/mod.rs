//! Toolsets: the names by which tools are switched on and off, and what a conversation gets of them.

mod names;
mod schema;
mod selection;
mod table;

pub use names::TOOLSET_NAMES;
pub use schema::normalised_schema;
pub use selection::{OfferedTool, ToolOffer, ToolSelection};
pub use table::{basic_toolsets, toolset_doc};
