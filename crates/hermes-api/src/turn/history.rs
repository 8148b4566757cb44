//! A conversation as a client tells it, and the stored one.
//!
//! Clients of chat completions send all messages every time. Where they tell what is stored, the
//! stored session goes on, with its tool calls; where they differ, the client is right.

use hermes_session::{
    MessageContent, MessageRole, NewSession, SessionId, SessionMessage, SessionStore, StoredMessage,
};
use serde_json::Value;

/// What a client's own account of the conversation means for a stored session that differs from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenDifferent {
    /// The turns that differ are undone: the client has taken them back.
    Undo,
    /// The account goes on in a session of its own.
    NewSession,
}

/// A message of the user or the assistant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HistoryMessage {
    pub(crate) is_user: bool,
    pub(crate) text: String,
    /// All parts in the chat wire format, if there is more than text.
    pub(crate) parts: Option<Value>,
}

/// One message of the user and what was answered.
#[derive(Debug, Clone, Default, PartialEq)]
struct Exchange {
    said: String,
    /// Everything the assistant wrote; the last is the answer.
    answers: Vec<String>,
}

/// Makes the stored session tell what the client tells. Gives the id of the session to continue.
pub(super) fn reconcile(
    store: &mut SessionStore,
    session: &SessionId,
    history: &[HistoryMessage],
    when_different: WhenDifferent,
    new: NewSession,
) -> hermes_session::Result<SessionId> {
    let stored = match store.session(session)? {
        Some(_) => store.load_history(session)?.messages,
        None => {
            return seed(store, session.clone(), history, new);
        }
    };
    let has_summary = stored.iter().any(|stored| stored.message.is_summary());
    let stored = exchanges(stored.iter().map(StoredText::of));
    let told = exchanges(history.iter().map(|message| StoredText {
        is_user: message.is_user,
        text: message.text.clone(),
    }));
    let alike = stored
        .iter()
        .zip(&told)
        .take_while(|(stored, told)| stored.tells(told))
        .count();
    // Of a summarised conversation only the end can be compared.
    let ends_alike = has_summary
        && told.len() >= stored.len()
        && stored
            .iter()
            .rev()
            .zip(told.iter().rev())
            .all(|(stored, told)| stored.tells(told));
    if ends_alike || alike == stored.len() && alike == told.len() {
        return Ok(session.clone());
    }
    if alike < stored.len() && when_different == WhenDifferent::NewSession {
        return seed(store, SessionId::generate(), history, new);
    }
    store.undo_turns(session, stored.len() - alike)?;
    store.append(session, &messages_from(history, alike))?;
    Ok(session.clone())
}

/// A new session that begins with these messages; one without messages is not stored yet.
fn seed(
    store: &mut SessionStore,
    session: SessionId,
    history: &[HistoryMessage],
    new: NewSession,
) -> hermes_session::Result<SessionId> {
    let messages = messages_from(history, 0);
    if messages.is_empty() {
        return Ok(session);
    }
    store.create_session(&NewSession {
        id: Some(session.clone()),
        ..new
    })?;
    store.append(&session, &messages)?;
    Ok(session)
}

/// The messages after so many exchanges, as they are stored. What comes before the first message of
/// the user is left out: no provider takes it.
fn messages_from(history: &[HistoryMessage], exchanges: usize) -> Vec<SessionMessage> {
    let mut seen = 0;
    let mut messages = Vec::new();
    for message in history {
        seen += usize::from(message.is_user);
        if seen <= exchanges {
            continue;
        }
        let content = match &message.parts {
            Some(parts) => MessageContent::Parts(parts.clone()),
            None => MessageContent::Text(message.text.clone()),
        };
        let role = if message.is_user {
            MessageRole::User
        } else {
            MessageRole::Assistant
        };
        messages.push(SessionMessage {
            content: Some(content),
            ..SessionMessage::new(role)
        });
    }
    messages
}

struct StoredText {
    is_user: bool,
    text: String,
}

impl StoredText {
    fn of(stored: &StoredMessage) -> Self {
        let message = &stored.message;
        let is_user = message.role == MessageRole::User && !message.is_summary();
        let counts = is_user || message.role == MessageRole::Assistant;
        Self {
            is_user,
            text: if counts {
                message.text()
            } else {
                String::new()
            },
        }
    }
}

fn exchanges(messages: impl Iterator<Item = StoredText>) -> Vec<Exchange> {
    let mut found: Vec<Exchange> = Vec::new();
    for message in messages {
        if message.is_user {
            found.push(Exchange {
                said: message.text.trim().to_owned(),
                answers: Vec::new(),
            });
        } else if let Some(last) = found.last_mut()
            && !message.text.trim().is_empty()
        {
            last.answers.push(message.text.trim().to_owned());
        }
    }
    found
}

impl Exchange {
    /// Whether this stored exchange is what the client saw: the answer, or everything that was
    /// streamed before it as well.
    fn tells(&self, told: &Self) -> bool {
        let bare = |texts: &[String]| -> String {
            let joined = texts.concat();
            joined.split_whitespace().collect()
        };
        let last = self.answers.len().saturating_sub(1);
        let answer = self.answers.get(last..).unwrap_or_default();
        let seen = bare(&told.answers);
        self.said == told.said && (seen == bare(answer) || seen == bare(&self.answers))
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
