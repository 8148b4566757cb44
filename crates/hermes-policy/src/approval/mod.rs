//! Deciding whether a command runs: settings, lists, remembered answers, the model, the person.

mod allowlist;
mod ask;
mod deny;
mod policy;
mod remembered;
mod settings;
mod verdict;

pub use ask::{
    Answer, ApprovalRequest, Approver, Assessment, CommandScanner, RiskAssessor, SCANNED,
};
pub use policy::{CheckRequest, CommandPolicy, Interaction};
pub use remembered::{PermanentApprovals, SessionApprovals};
pub(crate) use settings::written;
pub use settings::{ApprovalMode, ApprovalSettings, Unattended};
pub use verdict::{ApprovedBy, Status, Verdict};

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod robustness_tests;
