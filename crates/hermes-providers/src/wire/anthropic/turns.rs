//! Encodes a conversation for Anthropic's servers: alternating roles, every call with its result.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::message::{Content, ContentPart, Image, Message, Role};
use crate::server_limits::ServerLimits;

/// Images in tool results that are sent; older ones are omitted.
const MAX_SCREENSHOTS: usize = 3;

/// Which reasoning of earlier answers is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningReplay {
    /// That of the last answer, signed.
    Signed,
    /// All, without signatures.
    Unsigned,
    Dropped,
}

/// The messages of a request.
pub(super) fn encode_turns(
    messages: &[Message],
    replay: ReasoningReplay,
    limits: ServerLimits,
) -> Vec<Value> {
    let last_answer = messages
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    let results = || messages.iter().filter(|message| message.role == Role::Tool);
    let answered: HashSet<&str> = results()
        .filter_map(|message| message.tool_call_id.as_deref())
        .collect();
    let calls = messages.iter().flat_map(|message| &message.tool_calls);
    let asked: HashSet<&str> = calls.map(|call| call.id.as_str()).collect();
    let images: usize = results().map(|message| message.content.images()).sum();
    let mut omitted_images = images.saturating_sub(MAX_SCREENSHOTS);
    let mut turns: Vec<Value> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let (role, blocks) = match message.role {
            // Part of the system prompt.
            Role::System => continue,
            Role::User => (
                "user",
                content_blocks(&message.content, &mut |image| {
                    limits.omission_note(image, message.role)
                }),
            ),
            Role::Tool => {
                let id = message.tool_call_id.as_deref().unwrap_or_default();
                if !asked.contains(id) {
                    continue;
                }
                let block = result_block(id, message, limits, &mut omitted_images);
                ("user", vec![block])
            }
            Role::Assistant => {
                let own = if Some(at) == last_answer || replay == ReasoningReplay::Unsigned {
                    replay
                } else {
                    ReasoningReplay::Dropped
                };
                ("assistant", answer_blocks(message, own, &answered))
            }
        };
        append(&mut turns, role, blocks);
    }
    if turns
        .first()
        .is_some_and(|turn| turn["role"] == "assistant")
    {
        let opening = json!({"role": "user", "content": [{"type": "text", "text": "(continued)"}]});
        turns.insert(0, opening);
    }
    turns
}

/// Adds blocks to the last turn if it has the same role, or as a new turn.
fn append(turns: &mut Vec<Value>, role: &str, blocks: Vec<Value>) {
    if blocks.is_empty() {
        return;
    }
    if let Some(last) = turns.last_mut()
        && last["role"] == role
        && let Some(content) = last["content"].as_array_mut()
    {
        content.extend(blocks);
        return;
    }
    turns.push(json!({"role": role, "content": blocks}));
}

fn answer_blocks(
    message: &Message,
    replay: ReasoningReplay,
    answered: &HashSet<&str>,
) -> Vec<Value> {
    let mut blocks = Vec::new();
    for detail in &message.reasoning.details {
        let signed = detail["signature"].is_string() || detail["type"] == "redacted_thinking";
        let kind = detail["type"].as_str().unwrap_or_default();
        let is_reasoning = kind == "thinking" || kind == "redacted_thinking";
        match replay {
            ReasoningReplay::Signed if is_reasoning && signed => blocks.push(detail.clone()),
            ReasoningReplay::Unsigned if kind == "thinking" => {
                blocks.push(json!({"type": "thinking", "thinking": detail["thinking"]}));
            }
            _ => {}
        }
    }
    let text = message.content.to_text();
    if !text.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": text}));
    }
    for call in &message.tool_calls {
        if !answered.contains(call.id.as_str()) {
            continue;
        }
        let input = serde_json::from_str::<Value>(&call.arguments).unwrap_or_default();
        let input = if input.is_object() { input } else { json!({}) };
        let id = wire_id(&call.id);
        blocks.push(json!({"type": "tool_use", "id": id, "name": call.name, "input": input}));
    }
    // Reasoning alone is not an answer.
    let only_reasoning = blocks.iter().all(|block| {
        block["type"]
            .as_str()
            .is_some_and(|kind| kind.contains("thinking"))
    });
    if only_reasoning { Vec::new() } else { blocks }
}

fn result_block(
    id: &str,
    message: &Message,
    limits: ServerLimits,
    omitted_images: &mut usize,
) -> Value {
    let blocks = content_blocks(&message.content, &mut |image| {
        let is_older = *omitted_images > 0;
        *omitted_images = omitted_images.saturating_sub(1);
        let note = limits.omission_note(image, message.role);
        note.or(is_older.then_some("[older image omitted]"))
    });
    let content = if blocks.is_empty() {
        json!("(no output)")
    } else {
        Value::Array(blocks)
    };
    json!({"type": "tool_result", "tool_use_id": wire_id(id), "content": content})
}

fn content_blocks(
    content: &Content,
    omission_note: &mut dyn FnMut(&Image) -> Option<&'static str>,
) -> Vec<Value> {
    let text_block = |text: &str| json!({"type": "text", "text": text});
    match content {
        Content::Text(text) if text.trim().is_empty() => Vec::new(),
        Content::Text(text) => vec![text_block(text)],
        Content::Parts(parts) => parts
            .iter()
            .filter_map(|part| match part {
                ContentPart::Text(text) if text.trim().is_empty() => None,
                ContentPart::Text(text) => Some(text_block(text)),
                ContentPart::Image(image) => Some(match (omission_note(image), image) {
                    (Some(note), _) => text_block(note),
                    (None, Image::Data { media_type, base64 }) => json!({
                        "type": "image",
                        "source": {"type": "base64", "media_type": media_type, "data": base64},
                    }),
                    (None, Image::Url(url)) => {
                        json!({"type": "image", "source": {"type": "url", "url": url}})
                    }
                }),
            })
            .collect(),
    }
}

/// An id in the allowed characters.
fn wire_id(id: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let id = if id.is_empty() { "_" } else { id };
    id.replace(|c| !is_allowed(c), "_")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::message::{Reasoning, ToolCall};

    fn answer(text: &str, thought: &str) -> Message {
        Message {
            reasoning: Reasoning {
                details: vec![
                    json!({"type": "thinking", "thinking": thought, "signature": "s"}),
                    json!({"type": "reasoning.text", "text": "of another format"}),
                ],
                ..Reasoning::default()
            },
            ..Message::assistant(text)
        }
    }

    fn reasoning_sent(replay: ReasoningReplay) -> Vec<String> {
        let messages = [
            Message::user("a"),
            answer("one", "old"),
            Message::user("b"),
            answer("two", "new"),
            Message::user("c"),
        ];
        let turns = encode_turns(&messages, replay, ServerLimits::default());
        let blocks = turns
            .iter()
            .flat_map(|turn| turn["content"].as_array().unwrap().clone());
        blocks
            .filter(|block| block["type"] == "thinking")
            .map(|block| format!("{}{}", block["thinking"], block["signature"]))
            .collect()
    }

    #[test]
    fn signed_reasoning_is_sent_back_with_the_last_answer_only() {
        assert_eq!(reasoning_sent(ReasoningReplay::Signed), ["\"new\"\"s\""]);
        assert_eq!(
            reasoning_sent(ReasoningReplay::Unsigned),
            ["\"old\"null", "\"new\"null"]
        );
        assert_eq!(reasoning_sent(ReasoningReplay::Dropped), [""; 0]);
    }

    #[test]
    fn only_the_newest_images_are_sent() {
        let calls: Vec<ToolCall> = (0..5)
            .map(|at| ToolCall::new(format!("c{at}"), "browser", "{}"))
            .collect();
        let mut messages = vec![Message::user("look")];
        let mut asking = Message::assistant("");
        asking.tool_calls.clone_from(&calls);
        messages.push(asking);
        for call in &calls {
            let picture = ContentPart::Image(Image::Url(format!("https://x/{}", call.id)));
            messages.push(Message::tool_result(call, Content::Parts(vec![picture])));
        }
        let turns = encode_turns(&messages, ReasoningReplay::Dropped, ServerLimits::default());
        assert_eq!(turns.len(), 3);
        let kinds: Vec<&str> = turns[2]["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["content"][0]["type"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["text", "text", "image", "image", "image"]);
    }
}
