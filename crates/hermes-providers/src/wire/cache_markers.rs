//! Markers that tell some providers what to cache for the next request.

use serde_json::{Value, json};

/// Marked messages besides the system prompt.
const MARKED_MESSAGES: usize = 3;

/// Whether and how long marked parts are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CacheMarkers {
    /// No markers.
    #[default]
    Off,
    /// For five minutes.
    FiveMinutes,
    /// For an hour.
    OneHour,
}

impl CacheMarkers {
    /// The marker.
    pub(crate) fn value(self) -> Option<Value> {
        match self {
            Self::Off => None,
            Self::FiveMinutes => Some(json!({"type": "ephemeral"})),
            Self::OneHour => Some(json!({"type": "ephemeral", "ttl": "1h"})),
        }
    }

    /// Marks the system prompt and the last messages of the chat format. Its tool messages cannot be
    /// marked.
    pub(crate) fn mark_chat(self, messages: &mut [Value]) {
        let Some(mark) = self.value() else { return };
        let is = |message: &Value, role: &str| message["role"] == role;
        if let Some(system) = messages
            .first_mut()
            .filter(|message| is(message, "system") || is(message, "developer"))
        {
            mark_message(system, &mark);
        }
        let others = messages
            .iter_mut()
            .rev()
            .filter(|message| !is(message, "system") && !is(message, "developer"));
        for message in others.take(MARKED_MESSAGES) {
            if !is(message, "tool") {
                mark_message(message, &mark);
            }
        }
    }

    /// Marks the last messages of Anthropic's format. Its encoder marks the system prompt.
    pub(crate) fn mark_anthropic(self, messages: &mut [Value]) {
        let Some(mark) = self.value() else { return };
        for message in messages.iter_mut().rev().take(MARKED_MESSAGES) {
            mark_message(message, &mark);
        }
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
        CacheMarkers::OneHour.mark_chat(&mut messages);
        let mark = json!({"type": "ephemeral", "ttl": "1h"});
        let marked = |text: &str| json!([{"type": "text", "text": text, "cache_control": mark}]);
        assert_eq!(messages[0]["content"], marked("s"));
        assert_eq!(messages[1]["content"], "old");
        assert_eq!(messages[2]["content"], marked("u"));
        assert_eq!(messages[3]["content"], "");
        assert_eq!(messages[4]["content"], "r");
        let untouched = messages.clone();
        CacheMarkers::Off.mark_chat(&mut messages);
        assert_eq!(messages, untouched);
    }
}
