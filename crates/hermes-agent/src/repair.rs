//! The copy of a history that is sent: whole, in order, and the same bytes for the same history.
//!
//! Works on a copy; what is stored stays as it was. Providers refuse a call without its result and a
//! result without its call, so neither leaves here, whatever a crash, another program or a person
//! with an editor left behind.

use std::collections::HashSet;

use hermes_providers::{Content, Message, Part, Role, ToolCall};
use serde_json::Value;

/// What stands for a result that is missing.
const NO_RESULT: &str =
    "[There is no result of this call: it was cut off, or its result was lost.]";
/// What is put before the result of a call whose arguments are lost.
const LOST_ARGUMENTS: &str = "[The arguments of this call were damaged and are not shown.]\n";

/// The messages as they are sent.
pub(crate) fn sendable(mut messages: Vec<Message>) -> Vec<Message> {
    mend_arguments(&mut messages);
    let mut messages = paired(messages);
    messages.retain(has_something_to_say);
    for message in &mut messages {
        trim(message);
    }
    merge_users(messages)
}

/// Arguments as canonical JSON: keys sorted, no spaces. `None` if they are not a JSON object.
pub(crate) fn canonical_arguments(text: &str) -> Option<String> {
    match serde_json::from_str(text).ok()? {
        value @ Value::Object(_) => Some(sorted(value).to_string()),
        _ => None,
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields
                .into_iter()
                .map(|(name, value)| (name, sorted(value)))
                .collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// Arguments that no provider could read become `{}`, and the result says so.
fn mend_arguments(messages: &mut [Message]) {
    let mut damaged = HashSet::new();
    for message in messages.iter_mut() {
        for call in &mut message.tool_calls {
            match canonical_arguments(&call.arguments) {
                Some(canonical) => call.arguments = canonical,
                None => {
                    if !call.arguments.trim().is_empty() {
                        damaged.insert(call.id.clone());
                    }
                    "{}".clone_into(&mut call.arguments);
                }
            }
        }
        let answered = message.tool_call_id.as_ref();
        if message.role == Role::Tool
            && answered.is_some_and(|id| damaged.contains(id))
            && let Content::Text(text) = &mut message.content
        {
            text.insert_str(0, LOST_ARGUMENTS);
        }
    }
}

/// Every call followed by its result, every result behind its call.
fn paired(messages: Vec<Message>) -> Vec<Message> {
    let mut whole: Vec<Message> = Vec::with_capacity(messages.len());
    let mut open: Vec<ToolCall> = Vec::new();
    for message in messages {
        if message.role == Role::Tool {
            let id = message.tool_call_id.as_deref().unwrap_or_default();
            if let Some(at) = open.iter().position(|call| call.id == id) {
                open.remove(at);
                whole.push(message);
            }
            continue;
        }
        whole.extend(
            open.drain(..)
                .map(|call| Message::tool_result(&call, NO_RESULT)),
        );
        open.clone_from(&message.tool_calls);
        whole.push(message);
    }
    whole.extend(
        open.drain(..)
            .map(|call| Message::tool_result(&call, NO_RESULT)),
    );
    whole
}

/// An assistant message that only thought says nothing to anybody, and some providers refuse it.
fn has_something_to_say(message: &Message) -> bool {
    message.role != Role::Assistant
        || !message.tool_calls.is_empty()
        || !message.content.is_blank()
        || !message.reasoning.message_items.is_empty()
}

fn trim(message: &mut Message) {
    let trim_text = |text: &mut String| {
        let trimmed = text.trim();
        if trimmed.len() != text.len() {
            *text = trimmed.to_owned();
        }
    };
    match &mut message.content {
        Content::Text(text) => trim_text(text),
        Content::Parts(parts) => {
            for part in parts {
                if let Part::Text(text) = part {
                    trim_text(text);
                }
            }
        }
    }
}

/// Two messages of the person in a row become one: after a turn that failed there is no answer
/// between them.
fn merge_users(messages: Vec<Message>) -> Vec<Message> {
    let mut merged: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match merged.last_mut() {
            Some(last) if last.role == Role::User && message.role == Role::User => {
                join(&mut last.content, message.content);
            }
            _ => merged.push(message),
        }
    }
    merged
}

fn join(content: &mut Content, more: Content) {
    match (&mut *content, more) {
        (Content::Text(text), Content::Text(more)) => {
            text.push_str("\n\n");
            text.push_str(&more);
        }
        (Content::Parts(parts), more) => parts.extend(into_parts(more)),
        (Content::Text(text), more) => {
            let mut parts = vec![Part::Text(std::mem::take(text))];
            parts.extend(into_parts(more));
            *content = Content::Parts(parts);
        }
    }
}

fn into_parts(content: Content) -> Vec<Part> {
    match content {
        Content::Text(text) => vec![Part::Text(text)],
        Content::Parts(parts) => parts,
    }
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
