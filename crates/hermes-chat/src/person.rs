//! The person at the screen: asked in the live region, shown everything else above it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_policy::{Answer, ApprovalRequest};
use hermes_proc::{Wake, wait_for_any};
use hermes_runtime::Person;
use hermes_secret::SecretString;
use hermes_tools::ClarifyQuestion;

use crate::events::{Event, Exchange};

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) enum Asked {
    Approval(ApprovalRequest),
    Password,
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

/// The person at the screen.
pub(crate) struct ScreenPerson {
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) interrupt: Arc<Wake>,
}

impl ScreenPerson {
    fn ask(&self, asked: Asked, limit: Duration) -> Option<Reply> {
        let slot = Slot {
            reply: Mutex::new(None),
            answered: Wake::new().ok()?,
            withdrawn: Wake::new().ok()?,
        };
        let question = Question {
            asked,
            limit,
            slot: Arc::new(slot),
        };
        self.exchange.send(Event::Asked(question.clone()));
        let slot = &question.slot;
        let woken = wait_for_any(&[&slot.answered, &self.interrupt], limit);
        let reply = slot
            .reply
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        slot.withdrawn.raise();
        self.exchange.nudge();
        reply.filter(|_| woken == Some(0))
    }
}

impl Person for ScreenPerson {
    fn approves_commands(&self) -> bool {
        true
    }

    fn answers_questions(&self) -> bool {
        true
    }

    fn approve(&self, request: &ApprovalRequest) -> Answer {
        match self.ask(Asked::Approval(request.clone()), request.timeout) {
            Some(Reply::Approval(answer)) => answer,
            Some(Reply::Password(_) | Reply::Text(_)) | None => Answer::Deny(None),
        }
    }

    fn sudo_password(&self, timeout: Duration) -> Option<SecretString> {
        match self.ask(Asked::Password, timeout)? {
            Reply::Password(password) => Some(password),
            Reply::Approval(_) | Reply::Text(_) => None,
        }
    }

    fn answer(&self, question: &ClarifyQuestion, timeout: Duration) -> Option<String> {
        match self.ask(Asked::Clarify(question.clone()), timeout)? {
            Reply::Text(text) => Some(text),
            Reply::Approval(_) | Reply::Password(_) => None,
        }
    }

    fn warn(&self, message: &str, hint: Option<&str>) {
        self.exchange.send(Event::Warning {
            message: message.to_owned(),
            hint: hint.map(str::to_owned),
        });
    }

    fn notify(&self, message: &str) {
        self.exchange.send(Event::Notice(message.to_owned()));
    }

    fn progress(&self, line: &str) {
        self.exchange.send(Event::Progress(line.to_owned()));
    }
}
