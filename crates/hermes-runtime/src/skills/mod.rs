//! Skills that a conversation begins with: found by name, read whole, and added to every request.

mod find;
mod text;

pub use find::{SkillSummary, skill_summaries};
pub(crate) use find::{exists, load, names};
pub(crate) use text::prompt_text;

use std::path::PathBuf;

/// A skill that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skill {
    pub(crate) name: String,
    /// What it tells the agent, without its declarations.
    pub(crate) body: String,
    /// Its files; `None` for a built-in skill.
    pub(crate) files: Option<SkillFiles>,
}

/// Where the files of a skill are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillFiles {
    /// On this machine.
    pub(crate) directory: PathBuf,
    /// Below `~/.hermes` of a container or another machine.
    pub(crate) remote: PathBuf,
}
