//! The scan of a skill before it is installed: what its files would do, or make an agent do.
//!
//! Rules over text, so a hint and not a proof. What an agent does with a skill passes the same
//! approval as everything else it does.

mod deep;
mod rules;
mod scan;

pub use deep::deep_findings;
pub use scan::{Finding, ScanReport, scan_directory};

use serde::{Deserialize, Serialize};

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

/// What a scan says on the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScanVerdict {
    Safe,
    Caution,
    Dangerous,
}

impl ScanVerdict {
    /// As files record it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Caution => "caution",
            Self::Dangerous => "dangerous",
        }
    }
}

/// How far a source is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Part of the program.
    Builtin,
    /// A few repositories of vendors.
    Trusted,
    Community,
    /// Written by an agent here.
    AgentCreated,
}

/// Repositories of vendors.
const TRUSTED_REPOSITORIES: [&str; 4] = [
    "openai/skills",
    "anthropics/skills",
    "huggingface/skills",
    "NVIDIA/skills",
];

impl Trust {
    /// The trust in a repository on GitHub, `owner/name`.
    pub fn of_repository(repository: &str) -> Self {
        let mut known = TRUSTED_REPOSITORIES.iter();
        if known.any(|known| known.eq_ignore_ascii_case(repository)) {
            Self::Trusted
        } else {
            Self::Community
        }
    }

    /// As files record it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Trusted => "trusted",
            Self::Community => "community",
            Self::AgentCreated => "agent-created",
        }
    }

    /// Whether a skill with this verdict may be installed. `force` lifts caution, never danger.
    pub fn allows(self, verdict: ScanVerdict, force: bool) -> bool {
        match (self, verdict) {
            (Self::Builtin, _)
            | (_, ScanVerdict::Safe)
            | (Self::Trusted | Self::AgentCreated, ScanVerdict::Caution) => true,
            (Self::Community, ScanVerdict::Caution) => force,
            (Self::Trusted | Self::Community | Self::AgentCreated, ScanVerdict::Dangerous) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_and_verdict_decide_together() {
        use ScanVerdict::{Caution, Dangerous, Safe};
        for (trust, verdict, force, allowed) in [
            (Trust::Builtin, Dangerous, false, true),
            (Trust::Trusted, Caution, false, true),
            (Trust::Trusted, Dangerous, true, false),
            (Trust::Community, Safe, false, true),
            (Trust::Community, Caution, false, false),
            (Trust::Community, Caution, true, true),
            (Trust::Community, Dangerous, true, false),
            (Trust::AgentCreated, Caution, false, true),
            (Trust::AgentCreated, Dangerous, false, false),
        ] {
            assert_eq!(
                trust.allows(verdict, force),
                allowed,
                "{trust:?} {verdict:?}"
            );
        }
        assert_eq!(Trust::of_repository("OpenAI/skills"), Trust::Trusted);
        assert_eq!(Trust::of_repository("openai/skills-x"), Trust::Community);
    }
}
