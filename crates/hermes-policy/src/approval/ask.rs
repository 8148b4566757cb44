//! Asking for approval: the question, the answers, and the traits of those who answer.
//!
//! How a person or a model is reached is up to the implementations.

use std::time::Duration;

/// A question to a person or a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The command or script, secrets masked.
    pub command: String,
    pub keys: Vec<String>,
    /// The same as text.
    pub description: String,
    /// Whether the answer may be remembered for the session.
    pub offer_session: bool,
    /// Whether the answer may be remembered for good.
    pub offer_always: bool,
    /// How long to wait; silence is a denial.
    pub timeout: Duration,
    /// Why the approval model advises against it.
    pub advice: Option<String>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Once,
    /// Until the session ends.
    Session,
    /// For good.
    Always,
    /// No, perhaps with a reason. Also for silence, an interrupt and a question that reached nobody.
    Deny(Option<String>),
}

/// Puts a question to a person and waits for the answer.
pub trait Approver: Send + Sync {
    /// Asks. Must answer within the timeout of the request.
    fn ask(&self, request: &ApprovalRequest) -> Answer;
}

/// What a model thinks of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assessment {
    /// Harmless here.
    Approve,
    /// Not advisable, with the reason.
    Deny(String),
    /// The model cannot tell, gave no clear answer or was not reached: a person decides.
    Unsure,
}

/// An auxiliary model that assesses commands, for `approvals.mode: smart`.
pub trait RiskAssessor: Send + Sync {
    /// Assesses a command. Anything that goes wrong is [`Assessment::Unsure`].
    fn assess(&self, request: &ApprovalRequest) -> Assessment;
}

/// How the findings of a scanner begin.
pub const SCANNED: &str = "tirith:";

/// A program that looks into commands before they run.
pub trait CommandScanner: Send + Sync {
    /// What it found, each beginning with [`SCANNED`]; a finding is a question to the person.
    fn scan(&self, command: &str) -> Vec<String>;
}
