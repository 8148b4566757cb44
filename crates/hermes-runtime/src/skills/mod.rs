//! Skills of a conversation: which there are under these settings, and what the model is told of
//! those it begins with.

mod host;
mod profile;

pub use profile::{SkillSummary, own_skills, skill_summaries};
pub(crate) use profile::{cache_file, exists, load, names, offer_facts, profile_skills};

pub(crate) use host::SkillHost;
