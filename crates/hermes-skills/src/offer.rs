//! Which skills are offered: by platform, by what runs here, by the tools of the conversation, and
//! by the lists of the settings. A skill that is asked for by name is given without these, except
//! where it is switched off or made for another system.

use std::collections::BTreeSet;

use crate::catalog::IndexedSkill;
use crate::head::SkillHead;

/// What decides about the offer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferFacts {
    /// Names that are switched off.
    pub disabled: BTreeSet<String>,
    /// Names of the tools of the conversation; `None` where they are not known.
    pub tools: Option<BTreeSet<String>>,
    /// Names of their toolsets.
    pub toolsets: BTreeSet<String>,
    /// Whether the board is in use here.
    pub has_board: bool,
    /// Whether this is a container.
    pub is_container: bool,
    /// Whether skills about something else than programs are only named.
    pub is_about_code: bool,
}

impl OfferFacts {
    /// Whether a skill is offered.
    pub fn offers(&self, skill: &IndexedSkill) -> bool {
        !self.disabled.contains(&skill.name)
            && matches_system(&skill.platforms)
            && self.matches_environment(&skill.environments)
            && self.matches_tools(skill)
    }

    fn matches_environment(&self, environments: &[String]) -> bool {
        environments.is_empty()
            || environments
                .iter()
                .any(|name| match name.trim().to_ascii_lowercase().as_str() {
                    "kanban" => self.has_board,
                    "docker" => self.is_container,
                    "s6" => self.is_container && std::path::Path::new("/run/s6").is_dir(),
                    // A word that we do not know hides nothing.
                    _ => true,
                })
    }

    fn matches_tools(&self, skill: &IndexedSkill) -> bool {
        let Some(tools) = &self.tools else {
            return true;
        };
        let toolsets = &self.toolsets;
        skill.requires_tools.iter().all(|name| tools.contains(name))
            && skill
                .requires_toolsets
                .iter()
                .all(|name| toolsets.contains(name))
            && !skill
                .fallback_for_tools
                .iter()
                .any(|name| tools.contains(name))
            && !skill
                .fallback_for_toolsets
                .iter()
                .any(|name| toolsets.contains(name))
    }
}

/// Whether a skill is made for this system.
pub fn is_for_this_system(head: &SkillHead) -> bool {
    matches_system(&head.texts("platforms"))
}

fn matches_system(platforms: &[String]) -> bool {
    let here = if cfg!(target_os = "macos") {
        ["macos", "darwin"]
    } else {
        ["linux", "linux2"]
    };
    let is_here = |name: &String| here.iter().any(|own| name.trim().eq_ignore_ascii_case(own));
    platforms.is_empty() || platforms.iter().any(is_here)
}
