//! `session_search`: what was said in earlier conversations.
//!
//! Reads the store of sessions and never changes it. The conversation that asks is left out, except
//! for what has been summarised away from it.

mod found;
mod tool;

pub use tool::SessionSearchTool;
