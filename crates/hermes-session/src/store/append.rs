//! Appending messages: the user's at once, the model's together with all results of its calls.

use hermes_store::rusqlite::params;
use serde_json::Value;

use super::{SessionStore, SessionTransaction, count_of};
use crate::error::display_text;
use crate::message::{MessageRole, SessionMessage};
use crate::session::UsageRecord;
use crate::{Error, MessageId, Result, SessionId};

/// Seconds between the messages of one transaction, so that timestamps keep their order.
const TIMESTAMP_STEP: f64 = 1e-6;

const INSERT: &str = "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls,
     tool_name, effect_disposition, timestamp, token_count, finish_reason, reasoning,
     reasoning_content, reasoning_details, codex_reasoning_items, codex_message_items,
     platform_message_id, observed, active, compacted, api_content)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, 1, 0, ?18)";

/// One answer of the model with the results of its calls.
#[derive(Debug, Clone)]
pub struct ConversationStep {
    /// The answer, with or without calls.
    pub assistant: SessionMessage,
    /// One result per call, in the order of the calls.
    pub results: Vec<SessionMessage>,
    /// The cost of the answer, unless recorded before.
    pub usage: Option<UsageRecord>,
}

impl SessionStore {
    /// Stores messages in one transaction and returns their ids.
    pub fn append(
        &mut self,
        session: &SessionId,
        messages: &[SessionMessage],
    ) -> Result<Vec<MessageId>> {
        self.write(|transaction| transaction.append(session, messages))
    }

    /// Stores a message of the user, before it is sent anywhere.
    pub fn append_user(
        &mut self,
        session: &SessionId,
        message: &SessionMessage,
    ) -> Result<MessageId> {
        let ids = self.append(session, std::slice::from_ref(message))?;
        ids.first().copied().ok_or_else(|| session.unknown())
    }

    /// The same without waiting for the disk: for a message of which nobody is told, and of which
    /// nothing comes, before a later write or [`Self::force`] has waited.
    pub fn append_user_unsynced(
        &mut self,
        session: &SessionId,
        message: &SessionMessage,
    ) -> Result<MessageId> {
        let messages = std::slice::from_ref(message);
        let ids = self.write_unsynced(|transaction| transaction.append(session, messages))?;
        ids.first().copied().ok_or_else(|| session.unknown())
    }

    /// Stores an answer of the model, all results of its calls and its cost, in one transaction:
    /// after a crash either all of it is stored or nothing.
    pub fn append_step(
        &mut self,
        session: &SessionId,
        step: &ConversationStep,
    ) -> Result<Vec<MessageId>> {
        refuse_incomplete(step)?;
        let messages: Vec<SessionMessage> = std::iter::once(&step.assistant)
            .chain(&step.results)
            .cloned()
            .collect();
        self.write(|transaction| {
            let ids = transaction.append(session, &messages)?;
            if let Some(usage) = &step.usage {
                transaction.add_usage(session, usage)?;
            }
            Ok(ids)
        })
    }
}

impl SessionTransaction<'_> {
    /// Inserts rows without changing the counters of the session.
    pub(super) fn insert_messages(
        &self,
        session: &SessionId,
        messages: &[SessionMessage],
    ) -> Result<Vec<MessageId>> {
        self.must_exist(session)?;
        let mut next = self.now;
        let mut ids = Vec::with_capacity(messages.len());
        for message in messages {
            let timestamp = message
                .timestamp
                .filter(|time| time.is_finite())
                .unwrap_or(next);
            next = next.max(timestamp) + TIMESTAMP_STEP;
            let is_assistant = message.role == MessageRole::Assistant;
            let replay = |value: &Option<Value>| {
                value
                    .as_ref()
                    .filter(|value| is_assistant && !value.is_null())
                    .map(Value::to_string)
            };
            self.execute(
                INSERT,
                params![
                    session.as_str(),
                    message.role.as_str(),
                    message.content.as_ref().map(crate::MessageContent::encode),
                    message.tool_call_id,
                    message
                        .tool_calls
                        .as_ref()
                        .filter(|_| message.call_count() > 0)
                        .map(Value::to_string),
                    message.tool_name,
                    message.effect_disposition,
                    timestamp,
                    message.token_count,
                    message.finish_reason,
                    message.reasoning.as_ref().filter(|_| is_assistant),
                    message.reasoning_content.as_ref().filter(|_| is_assistant),
                    replay(&message.reasoning_details),
                    replay(&message.codex_reasoning_items),
                    replay(&message.codex_message_items),
                    message.platform_message_id,
                    message.observed,
                    message.api_content,
                ],
            )?;
            ids.push(MessageId(self.connection.last_insert_rowid()));
        }
        Ok(ids)
    }

    /// Inserts rows and counts them.
    fn append(&self, session: &SessionId, messages: &[SessionMessage]) -> Result<Vec<MessageId>> {
        let ids = self.insert_messages(session, messages)?;
        let calls: usize = messages.iter().map(SessionMessage::call_count).sum();
        self.execute(
            "UPDATE sessions SET message_count = COALESCE(message_count, 0) + ?2,
                 tool_call_count = COALESCE(tool_call_count, 0) + ?3
             WHERE id = ?1",
            params![session.as_str(), count_of(messages.len()), count_of(calls)],
        )?;
        Ok(ids)
    }
}

fn refuse_incomplete(step: &ConversationStep) -> Result<()> {
    let incomplete = |detail: String| Err(Error::IncompleteStep { detail });
    if step.assistant.role != MessageRole::Assistant {
        return incomplete("the first message is not an assistant message".to_owned());
    }
    let mut open = step.assistant.call_ids();
    for result in &step.results {
        let id = result.tool_call_id.as_deref().unwrap_or_default();
        match open.iter().position(|call| *call == id) {
            Some(at) if result.role == MessageRole::Tool => drop(open.remove(at)),
            Some(_) | None => {
                return incomplete(format!("the result '{}' has no call", display_text(id)));
            }
        }
    }
    match open.first() {
        Some(id) => incomplete(format!("the call '{}' has no result", display_text(id))),
        None => Ok(()),
    }
}
