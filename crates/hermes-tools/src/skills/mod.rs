//! The tools with which an agent finds, reads and changes skills.

mod list;
mod manage;
mod view;

pub use list::SkillsListTool;
pub use manage::{SkillManageTool, apply_pending_skill};
pub use view::SkillViewTool;

use std::path::PathBuf;
use std::sync::Arc;

use hermes_skills::{Catalog, OfferFacts, RequiredVariable, Skill, Skills};
use serde_json::{Value, json};

use crate::tool::CallContext;

/// What the session of a call does for skills.
pub trait SkillSession: Send + Sync {
    /// Which of these variables are set. Those that may be are visible to the commands and scripts
    /// of the session from now on.
    fn grant(&self, session_key: &str, skill: &str, names: &[String]) -> Vec<String>;
    /// Asks the person for variables that a skill needs and that are not set, and keeps what they
    /// give. Gives whether there is anything new.
    fn ask_for(&self, skill: &str, variables: &[&RequiredVariable]) -> bool;
    /// The text of a skill for the model: variables filled in, commands run where the settings say
    /// so.
    fn rendered(&self, skill: &Skill, text: &str, context: &CallContext) -> String;
    /// Which of these files, relative to the Hermes home, are missing.
    fn missing_files(&self, paths: &[String]) -> Vec<String>;
    /// Those of these files that commands elsewhere may have, by their path relative to the Hermes
    /// home, or why one may not be had; none where commands run on this machine.
    fn credentials(&self, paths: &[String]) -> Vec<Result<(PathBuf, Vec<u8>), String>>;
    /// Where a skill's directory is for commands of the session.
    fn directory_for_commands(&self, skill: &Skill) -> Option<String>;
}

/// Lets commands that run elsewhere have the credential files of a skill. Gives what went wrong, a
/// sentence each.
pub fn carry_credentials(
    skill: &Skill,
    session: &dyn SkillSession,
    context: &CallContext,
) -> Vec<String> {
    let files = session.credentials(&skill.head.credential_files());
    let carried = files.into_iter().map(|file| {
        let (relative, bytes) = file?;
        let files = context.filesystem.operations();
        files.carry(&relative, &bytes, context.file_call())
    });
    carried.filter_map(Result::err).collect()
}

/// The skills of a profile, as tools use them.
#[derive(Clone)]
pub struct SkillAccess {
    pub skills: Arc<Skills>,
    /// Keeps what is known of them.
    pub cache: Option<PathBuf>,
    pub facts: OfferFacts,
    pub session: Arc<dyn SkillSession>,
}

impl SkillAccess {
    fn catalog(&self) -> Catalog {
        Catalog::load(&self.skills.roots, self.cache.as_deref())
    }

    /// What decides about the offer in this call.
    fn facts(&self, context: &CallContext) -> OfferFacts {
        let enabled = &context.enabled_tools;
        let mut facts = self.facts.clone();
        if enabled.is_empty() {
            return facts;
        }
        facts.toolsets = context
            .registry
            .iter()
            .filter(|tool| enabled.iter().any(|name| name == tool.spec().name))
            .map(|tool| tool.spec().toolset.to_owned())
            .collect();
        facts.has_board |= enabled.iter().any(|name| name == "kanban_show");
        facts.tools = Some(enabled.iter().cloned().collect());
        facts
    }
}

fn failure(message: impl Into<String>) -> Value {
    json!({"success": false, "error": message.into()})
}
