//! Repairs the copy of a history that is sent to a provider; the stored history is unchanged.
//!
//! Providers refuse a call without its result and a result without its call. Neither is sent, whatever
//! a crash or another program has left. The same history gives the same bytes.

use std::collections::HashSet;

use hermes_providers::{Content, ContentPart, Message, Role, ToolCall};
use serde_json::Value;

/// Placeholder for a missing result.
const NO_RESULT: &str = "[This call has no result: it was cut off, or its result was lost.]";
/// Prefix of the result of a call with damaged arguments.
const LOST_ARGUMENTS: &str = "[The arguments of this call were damaged and are not shown.]\n";

pub(crate) fn sendable(mut messages: Vec<Message>) -> Vec<Message> {
    repair_arguments(&mut messages);
    let mut messages = paired(messages);
    messages.retain(has_content);
    for message in &mut messages {
        trim(message);
    }
    merge_users(messages)
}

/// Arguments as canonical JSON: keys sorted, no spaces. `None` if they are not a JSON object.
pub(crate) fn canonical_arguments(text: &str) -> Option<String> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    value.sort_all_objects();
    value.is_object().then(|| value.to_string())
}

/// Damaged arguments become `{}`, and the result says so.
fn repair_arguments(messages: &mut [Message]) {
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

fn paired(messages: Vec<Message>) -> Vec<Message> {
    let mut paired: Vec<Message> = Vec::with_capacity(messages.len());
    let mut open: Vec<ToolCall> = Vec::new();
    let without_result = |call: ToolCall| Message::tool_result(&call, NO_RESULT);
    for message in messages {
        if message.role == Role::Tool {
            let id = message.tool_call_id.as_deref().unwrap_or_default();
            if let Some(at) = open.iter().position(|call| call.id == id) {
                open.remove(at);
                paired.push(message);
            }
            continue;
        }
        paired.extend(open.drain(..).map(without_result));
        open.clone_from(&message.tool_calls);
        paired.push(message);
    }
    paired.extend(open.into_iter().map(without_result));
    paired
}

/// Whether a message is more than reasoning, which some providers refuse.
fn has_content(message: &Message) -> bool {
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
                if let ContentPart::Text(text) = part {
                    trim_text(text);
                }
            }
        }
    }
}

/// Merges consecutive user messages: after a failed turn there is no answer between them.
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
            let mut parts = vec![ContentPart::Text(std::mem::take(text))];
            parts.extend(into_parts(more));
            *content = Content::Parts(parts);
        }
    }
}

fn into_parts(content: Content) -> Vec<ContentPart> {
    match content {
        Content::Text(text) => vec![ContentPart::Text(text)],
        Content::Parts(parts) => parts,
    }
}

#[cfg(test)]
#[path = "history_repair_tests.rs"]
mod tests;
