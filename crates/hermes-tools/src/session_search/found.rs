//! How what was found is shown: messages in short, a conversation by its beginning and end.

use hermes_session::{
    Error, Hit, Listed, MessageId, Role, Session, SessionId, SessionStore, StoredMessage,
};
use serde_json::{Value, json};

/// Characters of a message that are shown.
const SHOWN_CHARS: usize = 1500;
/// Messages at the beginning and at the end of a conversation.
const BOOKENDS: usize = 3;

/// A part of a conversation.
pub(super) struct Excerpt {
    /// The messages around the one asked for.
    pub(super) around: Vec<Value>,
    /// How many messages come before them.
    pub(super) before: usize,
    /// How many come after them.
    pub(super) after: usize,
    /// How the conversation began, unless that is shown already.
    start: Vec<Value>,
    /// How it ended so far, unless that is shown already.
    end: Vec<Value>,
}

impl Excerpt {
    /// The messages around one; `None` if it is not in the session.
    pub(super) fn of(
        store: &SessionStore,
        session: &SessionId,
        message: MessageId,
        window: usize,
    ) -> Result<Option<Self>, Error> {
        let mut messages = store.all_messages(session)?;
        // What was taken back was never said; what was summarised was.
        messages.retain(|stored| (stored.active || stored.compacted) && is_worth_showing(stored));
        let Some(at) = messages.iter().position(|stored| stored.id == message) else {
            return Ok(None);
        };
        let from = at.saturating_sub(window);
        let to = (at + window + 1).min(messages.len());
        let (before, rest) = messages.split_at(from);
        let (around, after) = rest.split_at(to - from);
        let spoken = |stored: &&StoredMessage| {
            matches!(stored.message.role, Role::User | Role::Assistant)
                && !stored.message.text().is_empty()
        };
        let end = after.iter().rev().filter(spoken).take(BOOKENDS);
        let mut end: Vec<Value> = end.map(in_short).collect();
        end.reverse();
        Ok(Some(Self {
            around: around.iter().map(in_short).collect(),
            before: before.len(),
            after: after.len(),
            start: before
                .iter()
                .filter(spoken)
                .take(BOOKENDS)
                .map(in_short)
                .collect(),
            end,
        }))
    }
}

fn is_worth_showing(stored: &StoredMessage) -> bool {
    let message = &stored.message;
    message.role.as_str() != "system" && (message.call_count() > 0 || !message.text().is_empty())
}

fn in_short(stored: &StoredMessage) -> Value {
    let message = &stored.message;
    let mut shown = json!({
        "id": stored.id,
        "role": message.role.as_str(),
        "content": cut(&message.text()),
        "timestamp": stored.timestamp,
    });
    if let Some(tool) = &message.tool_name {
        shown["tool_name"] = json!(tool);
    }
    let called: Vec<&str> = message
        .call_ids()
        .iter()
        .filter_map(|id| message.name_of_call(id))
        .collect();
    if !called.is_empty() {
        shown["tool_calls"] = json!(called);
    }
    shown
}

fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        let omitted = text.chars().count() - SHOWN_CHARS;
        shown.push_str(&format!("… [{omitted} more characters]"));
    }
    shown
}

/// A hit with its surroundings.
pub(super) fn discovered(hit: &Hit, session: Option<&Session>, excerpt: Option<Excerpt>) -> Value {
    let mut shown = json!({
        "session_id": hit.session_id,
        "title": session.and_then(|session| session.title.as_deref()),
        "source": hit.source,
        "model": hit.model,
        "started_at": hit.session_started,
        "matched_role": hit.role,
        "match_message_id": hit.id,
        "when": hit.timestamp,
        "snippet": hit.snippet.trim(),
    });
    if let Some(excerpt) = excerpt {
        shown["bookend_start"] = json!(excerpt.start);
        shown["messages"] = json!(excerpt.around);
        shown["bookend_end"] = json!(excerpt.end);
        shown["messages_before"] = json!(excerpt.before);
        shown["messages_after"] = json!(excerpt.after);
    }
    shown
}

/// A conversation of a list.
pub(super) fn listed(one: &Listed) -> Value {
    json!({
        "session_id": one.session.id,
        "title": one.session.title,
        "source": one.session.source,
        "started_at": one.session.started_at,
        "last_active": one.last_active,
        "preview": one.preview,
    })
}
