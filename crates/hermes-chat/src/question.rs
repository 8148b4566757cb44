//! A question for the person: put by the thread of the conversation, answered by that of the screen.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_policy::{Answer, ApprovalRequest};
use hermes_proc::{Wake, wait_for_any};
use hermes_secret::SecretString;
use hermes_tools::ClarifyQuestion;

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) enum Asked {
    Approval(ApprovalRequest),
    Password,
    /// A value that is not shown, and what it is for.
    Secret(String),
    Clarify(ClarifyQuestion),
}

/// What was answered.
#[derive(Debug)]
pub(crate) enum Reply {
    Approval(Answer),
    Password(SecretString),
    Text(String),
}

/// A question and the place for its answer.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) asked: Asked,
    pub(crate) limit: Duration,
    slot: Arc<Slot>,
}

#[derive(Debug)]
struct Slot {
    reply: Mutex<Option<Reply>>,
    answered: Wake,
    /// Raised when nobody waits any more.
    withdrawn: Wake,
}

impl Question {
    /// `None` without file descriptors.
    pub(crate) fn new(asked: Asked, limit: Duration) -> Option<Self> {
        let slot = Slot {
            reply: Mutex::new(None),
            answered: Wake::new().ok()?,
            withdrawn: Wake::new().ok()?,
        };
        Some(Self {
            asked,
            limit,
            slot: Arc::new(slot),
        })
    }

    /// Waits for the answer until the limit has passed or `interrupt` is raised; then the question
    /// is withdrawn.
    pub(crate) fn wait(&self, interrupt: &Wake) -> Option<Reply> {
        let slot = &self.slot;
        let woken = wait_for_any(&[&slot.answered, interrupt], self.limit);
        let reply = slot
            .reply
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        slot.withdrawn.raise();
        reply.filter(|_| woken == Some(0))
    }

    /// Answers the question; `None` refuses.
    pub(crate) fn answer(&self, reply: Option<Reply>) {
        *self
            .slot
            .reply
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = reply;
        self.slot.answered.raise();
    }

    /// Whether nobody waits for the answer any more.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.slot.withdrawn.is_raised()
    }
}
