//! What a memory service gets of a conversation, and what it adds to a message.

use hermes_memory::{CompletedTurn, Said};
use hermes_session::MessageRole;

use crate::agent::Agent;
use crate::turn::{TurnOutcome, TurnResult};

impl Agent {
    /// What is remembered about a message of the user.
    pub(crate) fn recalled(&self, message: &str) -> Option<String> {
        let service = self.context.conversation.memory.as_ref()?;
        service.recall(message, self.session.as_str(), &self.context.interrupt)
    }

    /// Gives an answered turn to the memory service, which keeps it later.
    pub(crate) fn keep_turn(&self, message: &str, result: &TurnResult) {
        let Some(service) = &self.context.conversation.memory else {
            return;
        };
        let answer = match (&result.outcome, &result.final_response) {
            (TurnOutcome::Completed, Some(answer)) => answer.clone(),
            _ => return,
        };
        let conversation = if service.wants_conversation() {
            self.said()
        } else {
            Vec::new()
        };
        service.keep(CompletedTurn {
            session: self.session.to_string(),
            user: message.to_owned(),
            assistant: answer,
            conversation,
        });
    }

    /// What the user and the model have said to each other, without calls and their results.
    fn said(&self) -> Vec<Said> {
        let messages = self.messages().filter(|message| !message.is_summary());
        let said = messages.filter_map(|message| {
            let role = match message.role {
                MessageRole::User => "user",
                MessageRole::Assistant => "assistant",
                _ => return None,
            };
            let text = message.text();
            (!text.trim().is_empty()).then_some(Said { role, text })
        });
        said.collect()
    }
}
