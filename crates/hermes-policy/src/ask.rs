//! Asking: what is shown, what may be answered, and who gives the answer.
//!
//! How a person is reached belongs to the surfaces; here are only the traits they implement.

use std::time::Duration;

/// A question to a person or a model. The command in it is redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The command or script, secrets masked.
    pub command: String,
    /// Keys that were met.
    pub keys: Vec<String>,
    /// What it is about, in words.
    pub description: String,
    /// Whether the answer may be remembered for the session.
    pub offer_session: bool,
    /// Whether the answer may be remembered for good.
    pub offer_always: bool,
    /// How long to wait; silence is a denial.
    pub timeout: Duration,
    /// Why a model advises against it.
    pub advice: Option<String>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This time.
    Once,
    /// Until the session ends.
    Session,
    /// For good.
    Always,
    /// No, perhaps with a reason. Also for silence, an interrupt and a question that did not reach
    /// anybody.
    Deny(Option<String>),
}

/// Puts a question to a person and waits for the answer.
pub trait Approver: Send + Sync {
    /// Asks. Must answer within the timeout of the request.
    fn ask(&self, request: &ApprovalRequest) -> Answer;
}

/// What a model thinks of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Harmless here.
    Approve,
    /// Not advisable, with the reason.
    Deny(String),
    /// Cannot tell, or cannot be reached.
    Unsure,
}

/// An auxiliary model that judges commands, for `approvals.mode: smart`.
pub trait Judge: Send + Sync {
    /// Judges. Anything that goes wrong is [`Judgement::Unsure`].
    fn judge(&self, request: &ApprovalRequest) -> Judgement;
}

/// Is told before and after every question.
pub trait ApprovalObserver: Send + Sync {
    /// A question is about to be put.
    fn before(&self, request: &ApprovalRequest);
    /// It was answered.
    fn after(&self, request: &ApprovalRequest, answer: &Answer);
}
