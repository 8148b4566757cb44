//! Who is behind a conversation: can be asked for approval, an answer or a password, and is shown
//! warnings, notices and progress.

use std::sync::Arc;
use std::time::Duration;

use hermes_policy::{Answer, ApprovalRequest};
use hermes_secret::SecretString;
use hermes_terminal::sudo::PasswordPrompt;
use hermes_tools::{Answerer, ClarifyQuestion};

/// The person behind a conversation, as a surface reaches them. Text handed over is not escaped for
/// any output; the surface does that. Questions end early when the conversation is interrupted.
///
/// Every method has the answer of somebody who is not there, so an implementation names only what
/// its surface can do.
pub trait Person: Send + Sync {
    /// Whether [`Person::approve`] and [`Person::sudo_password`] reach anybody. If not, the settings
    /// decide about risky commands.
    fn approves_commands(&self) -> bool {
        false
    }

    /// Whether [`Person::answer`] reaches anybody.
    fn answers_questions(&self) -> bool {
        false
    }

    /// Decides about a risky command.
    fn approve(&self, _: &ApprovalRequest) -> Answer {
        Answer::Deny(None)
    }

    /// The password for sudo; `None` if none was given in time.
    fn sudo_password(&self, _timeout: Duration) -> Option<SecretString> {
        None
    }

    /// A value that is not shown while it is typed; `None` if none was given in time.
    fn secret(&self, _question: &str, _timeout: Duration) -> Option<SecretString> {
        None
    }

    /// Answers a question of the agent; `None` if no answer came in time.
    fn answer(&self, _: &ClarifyQuestion, _timeout: Duration) -> Option<String> {
        None
    }

    /// Something is wrong or will surprise, perhaps with advice.
    fn warn(&self, message: &str, _hint: Option<&str>) {
        tracing::warn!("{message}");
    }

    /// Something happened that is worth a line.
    fn notify(&self, message: &str) {
        tracing::info!("{message}");
    }

    /// A long step goes on.
    fn progress(&self, _: &str) {}
}

/// A conversation without a person: nothing is approved or answered, messages go to the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Person for Nobody {}

/// Whoever types at this terminal is an agent, which cannot approve its own commands. It reads what
/// is shown, and may be asked what the inner agent wants to know.
pub(crate) struct AgentAtTerminal(pub(crate) Arc<dyn Person>);

impl Person for AgentAtTerminal {
    fn answers_questions(&self) -> bool {
        self.0.answers_questions()
    }

    fn answer(&self, question: &ClarifyQuestion, timeout: Duration) -> Option<String> {
        self.0.answer(question, timeout)
    }

    fn warn(&self, message: &str, hint: Option<&str>) {
        self.0.warn(message, hint);
    }

    fn notify(&self, message: &str) {
        self.0.notify(message);
    }

    fn progress(&self, line: &str) {
        self.0.progress(line);
    }
}

/// The person as the lower layers know them.
#[derive(Clone)]
pub(crate) struct Reached(pub(crate) Arc<dyn Person>);

impl PasswordPrompt for Reached {
    fn ask(&self, limit: Duration) -> Option<SecretString> {
        self.0.sudo_password(limit)
    }
}

impl hermes_docker::Observer for Reached {
    fn progress(&self, line: &str) {
        self.0.progress(line);
    }

    fn notice(&self, text: &str) {
        self.0.warn(text, None);
    }
}

/// Puts the agent's questions to the person.
pub(crate) struct Clarifier {
    pub(crate) person: Arc<dyn Person>,
    pub(crate) timeout: Duration,
}

impl Answerer for Clarifier {
    fn answer(&self, question: &ClarifyQuestion) -> Option<String> {
        self.person.answer(question, self.timeout)
    }
}
