//! Which tier a name belongs to.

use super::class::SpawnClass;
use super::names::{
    CREDENTIALS, INTERNAL_SECRETS, MODE_MARKERS, RPC_NAMES, SESSION_NAMES, STRUCTURAL, is_listed,
};
use super::policy::EnvPolicy;
use super::rule::Rule;

/// A tier of names that children do not simply inherit. Activation markers (tier 3) and references
/// to an own install (tier 4) are judged apart: they can be lifted or need the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tier {
    /// Tier 0: marks of a run or a sandbox. They describe the parent and are wrong for any child.
    InternalMark,
    /// Tier 0: secrets of our own. Another Hermes process may know them.
    InternalSecret,
    Session,
    /// Tier 1.
    Credential,
    /// Tier 2, fixed list.
    Listed,
    /// Tier 2, found in the settings of this installation.
    Derived,
}

impl Tier {
    pub(super) fn of(name: &str, policy: &EnvPolicy) -> Option<Self> {
        if is_internal_mark(name) {
            Some(Self::InternalMark)
        } else if is_internal_secret(name) {
            Some(Self::InternalSecret)
        } else if SESSION_NAMES.contains(&name) {
            Some(Self::Session)
        } else if CREDENTIALS.contains(&name) {
            Some(Self::Credential)
        } else if is_listed(name) {
            Some(Self::Listed)
        } else if policy.secret_names.contains(name) && !STRUCTURAL.contains(&name) {
            Some(Self::Derived)
        } else {
            None
        }
    }

    /// Whether it is tier 0, which no setting lifts.
    pub(super) fn is_internal(self) -> bool {
        matches!(self, Self::InternalMark | Self::InternalSecret)
    }

    /// Whether it is tier 1 or 2.
    pub(super) fn is_credential(self) -> bool {
        matches!(self, Self::Credential | Self::Listed | Self::Derived)
    }

    /// The rule that keeps an inherited name of this tier for this class in spite of the tier.
    pub(super) fn kept_by(self, class: SpawnClass) -> Option<Rule> {
        match (class, self) {
            (
                SpawnClass::Hermes,
                Self::InternalSecret | Self::Credential | Self::Listed | Self::Derived,
            ) => Some(Rule::SameProgram),
            _ => None,
        }
    }

    pub(super) fn stripped_by(self) -> Rule {
        match self {
            Self::InternalMark | Self::InternalSecret => Rule::Internal,
            Self::Session => Rule::OtherSession,
            Self::Credential => Rule::Credential,
            Self::Listed => Rule::ListedSecret,
            Self::Derived => Rule::DerivedSecret,
        }
    }
}

/// Whether the value of a variable with this name is never to be shown: tiers 0 and 1 and the fixed
/// part of tier 2. Names that settings of an installation add are not known here.
pub fn is_managed_secret(name: &str) -> bool {
    is_internal_mark(name)
        || is_internal_secret(name)
        || CREDENTIALS.contains(&name)
        || is_listed(name)
}

fn is_internal_mark(name: &str) -> bool {
    name.starts_with("_HERMES_") || RPC_NAMES.contains(&name) || MODE_MARKERS.contains(&name)
}

fn is_internal_secret(name: &str) -> bool {
    if INTERNAL_SECRETS.contains(&name) {
        return true;
    }
    let upper = name.to_ascii_uppercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| upper.ends_with(ending));
    (upper.starts_with("AUXILIARY_") && ends(&["_API_KEY", "_BASE_URL"]))
        || (upper.starts_with("GATEWAY_RELAY_") && ends(&["_SECRET", "_KEY", "_TOKEN"]))
}
