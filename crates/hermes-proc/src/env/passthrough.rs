//! Names on passthrough lists that are not let through, and why.

use super::names::{FORCE_PREFIX, is_activation_marker};
use super::policy::EnvPolicy;
use super::tier::Tier;

/// Why a name on a passthrough list has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalReason {
    /// Tier 1 or 2: only the operator's list of trusted names opens it, and only for shells.
    Credential,
    /// Tier 0: nothing opens it.
    Internal,
    Activation,
    /// `*` or the like; names are given whole.
    Pattern,
}

impl RefusalReason {
    /// The reason in a few words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Credential => "credential managed by Hermes",
            Self::Internal => "internal to Hermes",
            Self::Activation => "a skill cannot activate an environment",
            Self::Pattern => "wildcards are not allowed; give the full name",
        }
    }
}

/// A name that a list asked for in vain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    pub name: String,
    /// Which list: a setting, or `skill <id>`.
    pub source: String,
    pub reason: RefusalReason,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "env passthrough: refused {}: {} (source: {})",
            self.name,
            self.reason.text(),
            self.source
        )
    }
}

/// Which list a name stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Operator,
    Skill,
    Trusted,
}

/// Why a list cannot let this name through, if so.
pub(super) fn refusal(name: &str, list: List, policy: &EnvPolicy) -> Option<RefusalReason> {
    if name.contains(['*', '?', '[']) {
        return Some(RefusalReason::Pattern);
    }
    let tier = Tier::of(name, policy);
    if name.starts_with(FORCE_PREFIX) || tier.is_some_and(Tier::is_internal) {
        return Some(RefusalReason::Internal);
    }
    match tier {
        Some(Tier::Session) => Some(RefusalReason::Internal),
        Some(_) if list != List::Trusted => Some(RefusalReason::Credential),
        _ if list == List::Skill && is_activation_marker(name) => Some(RefusalReason::Activation),
        _ => None,
    }
}

impl EnvPolicy {
    /// Why a skill cannot have this name let through, if so.
    pub fn skill_refusal(&self, skill: &str, name: &str) -> Option<Refusal> {
        Some(Refusal {
            name: name.to_owned(),
            source: format!("skill {skill}"),
            reason: refusal(name, List::Skill, self)?,
        })
    }

    /// Names on the operator's lists that have no effect.
    pub fn refusals(&self) -> Vec<Refusal> {
        let plain = self.passthrough.iter().map(|name| (name, List::Operator));
        let trusted = self.trusted_passthrough.iter();
        let trusted = trusted.map(|name| (name, List::Trusted));
        plain
            .chain(trusted)
            .filter_map(|(name, list)| {
                Some(Refusal {
                    name: name.clone(),
                    source: "config".to_owned(),
                    reason: refusal(name, list, self)?,
                })
            })
            .collect()
    }
}
