//! The system prompt: who the agent is, what it may count on, and what the project says.
//!
//! Built once per session and stored with it; every request of the session sends the same bytes.
//! Texts from files pass the injection scan; what it takes out is told to whoever watches.

mod assemble;
mod context_files;
mod injection;
mod spoken;
mod wording;

pub use assemble::{Assembled, Place, PromptParts, assemble};
pub(crate) use context_files::subdirectory_hint;
pub use injection::{Blocked, scan};
