//! Who is behind a served conversation: nobody, or the client of a run, who approves by request.

use std::sync::{Arc, Mutex, PoisonError};

use hermes_policy::{Answer, ApprovalRequest};
use hermes_runtime::Person;

/// Decides about a risky command of the turn that is on its way.
pub(crate) trait TurnApprover: Send + Sync {
    fn approve(&self, request: &ApprovalRequest) -> Answer;
}

/// The person of a conversation that outlives its turns.
pub(crate) struct ServedPerson {
    approves: bool,
    current: Mutex<Option<Arc<dyn TurnApprover>>>,
}

impl ServedPerson {
    pub(super) fn new(approves: bool) -> Self {
        Self {
            approves,
            current: Mutex::default(),
        }
    }

    /// Who is asked from now on.
    pub(super) fn serve(&self, approver: Option<Arc<dyn TurnApprover>>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = approver;
    }
}

impl Person for ServedPerson {
    fn approves_commands(&self) -> bool {
        self.approves
    }

    fn approve(&self, request: &ApprovalRequest) -> Answer {
        let current = self.current.lock();
        let current = current.unwrap_or_else(PoisonError::into_inner).clone();
        match current {
            Some(approver) => approver.approve(request),
            None => Answer::Deny(None),
        }
    }
}
