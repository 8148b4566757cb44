//! Converts between session messages and provider messages.
//!
//! Calls and reasoning are passed through as JSON, so that nothing a provider wants back is lost.
//! Histories are repaired in `history_repair`.

use hermes_providers::{Content, ContentPart, Image, Message, Reasoning, Role, ToolCall};
use hermes_session::{MessageContent, MessageRole, SessionMessage};
use serde_json::{Value, json};

/// A stored message for a provider; `None` for other roles.
pub(crate) fn to_wire(stored: &SessionMessage) -> Option<Message> {
    let role = match &stored.role {
        MessageRole::User => Role::User,
        MessageRole::Assistant => Role::Assistant,
        MessageRole::Tool => Role::Tool,
        MessageRole::System => Role::System,
        MessageRole::Other(_) => return None,
    };
    let content = match (&stored.api_content, &stored.content) {
        (Some(sent), Some(MessageContent::Parts(parts))) => with_text(sent, parts_of(parts)),
        (Some(sent), _) => Content::Text(sent.clone()),
        (None, Some(MessageContent::Text(text))) => Content::Text(text.clone()),
        (None, Some(MessageContent::Parts(parts))) => parts_of(parts),
        (None, None) => Content::default(),
    };
    Some(Message {
        role,
        content,
        tool_calls: calls_of(stored.tool_calls.as_ref()),
        tool_call_id: stored.tool_call_id.clone(),
        name: stored.tool_name.clone(),
        reasoning: Reasoning {
            text: stored.reasoning.clone(),
            content: stored.reasoning_content.clone(),
            details: list_of(stored.reasoning_details.as_ref()),
            response_items: list_of(stored.codex_reasoning_items.as_ref()),
            message_items: list_of(stored.codex_message_items.as_ref()),
        },
    })
}

pub(crate) fn to_stored(message: &Message, finish_reason: Option<&str>) -> SessionMessage {
    let role = match message.role {
        Role::User => MessageRole::User,
        Role::Assistant => MessageRole::Assistant,
        Role::Tool => MessageRole::Tool,
        Role::System => MessageRole::System,
    };
    let content = match &message.content {
        Content::Text(text) if text.is_empty() && !message.tool_calls.is_empty() => None,
        Content::Text(text) => Some(MessageContent::Text(text.clone())),
        Content::Parts(parts) => Some(MessageContent::Parts(parts_value(parts))),
    };
    let list = |items: &[Value]| (!items.is_empty()).then(|| Value::Array(items.to_vec()));
    SessionMessage {
        content,
        tool_calls: (!message.tool_calls.is_empty()).then(|| calls_value(&message.tool_calls)),
        tool_call_id: message.tool_call_id.clone(),
        tool_name: message.name.clone(),
        finish_reason: finish_reason.map(str::to_owned),
        reasoning: message.reasoning.text.clone(),
        reasoning_content: message.reasoning.content.clone(),
        reasoning_details: list(&message.reasoning.details),
        codex_reasoning_items: list(&message.reasoning.response_items),
        codex_message_items: list(&message.reasoning.message_items),
        ..SessionMessage::new(role)
    }
}

fn list_of(value: Option<&Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items.clone(),
        Some(Value::Null) | None => Vec::new(),
        Some(single) => vec![single.clone()],
    }
}

fn parts_of(value: &Value) -> Content {
    let Value::Array(parts) = value else {
        return Content::Text(value.to_string());
    };
    let parts = parts.iter().filter_map(|part| {
        let url = part
            .get("image_url")
            .and_then(|image| image.get("url").unwrap_or(image).as_str());
        match (part, url) {
            (_, Some(url)) => Some(ContentPart::Image(Image::from_url(url))),
            (Value::String(text), None) => Some(ContentPart::Text(text.clone())),
            (part, None) => Some(ContentPart::Text(part.get("text")?.as_str()?.to_owned())),
        }
    });
    Content::Parts(parts.collect())
}

/// Another text with the same images.
fn with_text(text: &str, content: Content) -> Content {
    let parts = match content {
        Content::Text(_) => Vec::new(),
        Content::Parts(parts) => parts,
    };
    let images = parts
        .into_iter()
        .filter(|part| matches!(part, ContentPart::Image(_)));
    let mut parts: Vec<ContentPart> = images.collect();
    if parts.is_empty() {
        return Content::Text(text.to_owned());
    }
    parts.insert(0, ContentPart::Text(text.to_owned()));
    Content::Parts(parts)
}

pub(crate) fn parts_value(parts: &[ContentPart]) -> Value {
    let parts = parts.iter().map(|part| match part {
        ContentPart::Text(text) => json!({"type": "text", "text": text}),
        ContentPart::Image(image) => {
            json!({"type": "image_url", "image_url": {"url": image.to_url()}})
        }
    });
    parts.collect()
}

fn calls_of(value: Option<&Value>) -> Vec<ToolCall> {
    let calls = list_of(value);
    let calls = calls.iter().map(|call| {
        let function = call.get("function").unwrap_or(call);
        let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => "{}".to_owned(),
            Some(other) => other.to_string(),
        };
        let id = match text(call, "id") {
            id if id.is_empty() => text(call, "call_id"),
            id => id,
        };
        ToolCall {
            extra_content: call.get("extra_content").cloned(),
            item_id: call["response_item_id"].as_str().map(str::to_owned),
            ..ToolCall::new(id, text(function, "name"), arguments)
        }
    });
    calls.collect()
}

fn calls_value(calls: &[ToolCall]) -> Value {
    let calls = calls.iter().map(|call| {
        let mut value = json!({
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        });
        if let Some(extra) = &call.extra_content {
            value["extra_content"] = extra.clone();
        }
        if let Some(item) = &call.item_id {
            value["response_item_id"] = json!(item);
        }
        value
    });
    calls.collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn message_survives_both_conversions() {
        let mut call = ToolCall::new("c1", "terminal", r#"{"command":"true"}"#);
        call.extra_content = Some(json!({"google": {"thought_signature": "x"}}));
        call.item_id = Some("fc_1".to_owned());
        let message = Message {
            tool_calls: vec![call],
            reasoning: Reasoning {
                text: Some("hm".to_owned()),
                content: Some("hm".to_owned()),
                details: vec![json!({"type": "thinking", "signature": "s"})],
                response_items: vec![json!({"id": "rs_1"})],
                message_items: vec![json!({"id": "msg_1"})],
            },
            ..Message::assistant("")
        };
        let stored = to_stored(&message, Some("tool_calls"));
        assert_eq!(stored.finish_reason.as_deref(), Some("tool_calls"));
        assert_eq!(to_wire(&stored), Some(message));
        let picture = Message::user(Content::Parts(vec![
            ContentPart::Text("see".to_owned()),
            ContentPart::Image(Image::from_url("data:image/png;base64,AAAA")),
        ]));
        assert_eq!(to_wire(&to_stored(&picture, None)), Some(picture));
    }

    #[test]
    fn messages_of_other_programs_are_converted() {
        let stored = SessionMessage {
            tool_calls: Some(
                json!([{"call_id": "x", "function": {"name": "todo", "arguments": {"a": 1}}}]),
            ),
            ..SessionMessage::new(MessageRole::Assistant)
        };
        let wire = to_wire(&stored).unwrap();
        assert_eq!(wire.tool_calls, [ToolCall::new("x", "todo", r#"{"a":1}"#)]);
        let meta = SessionMessage::new(MessageRole::Other("session_meta".to_owned()));
        assert_eq!(to_wire(&meta), None);
        let shortened = SessionMessage {
            api_content: Some("short".to_owned()),
            ..SessionMessage::tool_result("c", "terminal", "long")
        };
        assert_eq!(to_wire(&shortened).unwrap().content, Content::from("short"));
    }
}
