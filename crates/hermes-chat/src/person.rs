//! The person at the screen: asked in the live region, shown everything else above it.

use std::sync::Arc;
use std::time::Duration;

use hermes_policy::{Answer, ApprovalRequest};
use hermes_proc::Wake;
use hermes_runtime::Person;
use hermes_secret::SecretString;
use hermes_tools::ClarifyQuestion;

use crate::events::{Event, Exchange};
use crate::question::{Asked, Question, Reply};

/// The person at the screen.
pub(crate) struct ScreenPerson {
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) interrupt: Arc<Wake>,
}

impl ScreenPerson {
    fn ask(&self, asked: Asked, limit: Duration) -> Option<Reply> {
        let question = Question::new(asked, limit)?;
        self.exchange.send(Event::Asked(question.clone()));
        let reply = question.wait(&self.interrupt);
        self.exchange.nudge();
        reply
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

    fn secret(&self, question: &str, timeout: Duration) -> Option<SecretString> {
        match self.ask(Asked::Secret(question.to_owned()), timeout)? {
            Reply::Password(value) => Some(value),
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
