//! The system prompt: identity, environment and project instructions.
//!
//! It is built once per session and stored with it, so that every request has the same bytes. Text
//! from files passes the injection scan, which reports what it removes.

mod assemble;
mod context_files;
mod texts;

pub use assemble::{Assembled, CodingRules, PromptEnvironment, PromptParts, SkillsIndex, assemble};
pub use context_files::ContextFileRules;
pub(crate) use context_files::subdirectory_hint;
