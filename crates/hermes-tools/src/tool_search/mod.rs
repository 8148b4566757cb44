//! Tools that are found instead of listed.
//!
//! Servers bring tools by the hundred, and every schema is sent with every request. Where those of
//! others would take too much of the context window, three tools stand in for them: one searches, one
//! shows a schema, one calls. Tools of our own are always listed.

mod catalog;
mod deferral;
mod tools;

pub use tools::{CALL_TOOL, deferred_call, with_tool_search};
