//! Markers that tell some providers what to cache for the next request.

use serde_json::{Value, json};

/// Marked messages besides the system prompt.
const MARKED_MESSAGES: usize = 3;

/// Marks the system prompt and the last messages of the chat format. Its tool messages cannot be
/// marked.
pub(super) fn mark_chat(messages: &mut [Value], mark: &Value) {
    let is_system = |message: &Value| message["role"] == "system" || message["role"] == "developer";
    if let Some(system) = messages.first_mut().filter(|message| is_system(message)) {
        mark_message(system, mark);
    }
    let others = messages.iter_mut().rev();
    let others = others.filter(|message| !is_system(message));
    for message in others.take(MARKED_MESSAGES) {
        if message["role"] != "tool" {
            mark_message(message, mark);
        }
    }
}

/// Marks the last messages of Anthropic's format. Its encoder marks the system prompt.
pub(super) fn mark_anthropic(messages: &mut [Value], mark: &Value) {
    for message in messages.iter_mut().rev().take(MARKED_MESSAGES) {
        mark_message(message, mark);
    }
}

/// Marks the last part of a message that can be marked.
fn mark_message(message: &mut Value, mark: &Value) {
    let content = &mut message["content"];
    if let Value::String(text) = content {
        if text.is_empty() {
            return;
        }
        *content = json!([{"type": "text", "text": std::mem::take(text)}]);
    }
    let parts = content.as_array_mut().into_iter().flatten();
    let part = parts.rev().find(|part| {
        // Reasoning and empty text cannot be marked.
        let kind = part["type"].as_str().unwrap_or_default();
        !kind.contains("thinking") && part["text"] != ""
    });
    if let Some(Value::Object(part)) = part {
        part.insert("cache_control".to_owned(), mark.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_prompt_and_last_three_messages_are_marked() {
        let mut messages = vec![
            json!({"role": "system", "content": "s"}),
            json!({"role": "user", "content": "old"}),
            json!({"role": "user", "content": "u"}),
            json!({"role": "assistant", "content": "", "tool_calls": []}),
            json!({"role": "tool", "content": "r"}),
        ];
        let mark = json!({"type": "ephemeral", "ttl": "1h"});
        mark_chat(&mut messages, &mark);
        let marked = |text: &str| json!([{"type": "text", "text": text, "cache_control": mark}]);
        assert_eq!(messages[0]["content"], marked("s"));
        assert_eq!(messages[1]["content"], "old");
        assert_eq!(messages[2]["content"], marked("u"));
        assert_eq!(messages[3]["content"], "");
        assert_eq!(messages[4]["content"], "r");
    }
}
