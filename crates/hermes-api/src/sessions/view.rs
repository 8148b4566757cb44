//! Sessions and messages as clients see them: without prompts and settings.

use hermes_session::{MessageContent, Session, StoredMessage};
use serde_json::{Value, json};

/// A session.
pub(super) fn session(session: &Session) -> Value {
    json!({
        "id": session.id,
        "source": session.source,
        "user_id": session.user_id,
        "model": session.model,
        "title": session.title,
        "started_at": session.started_at,
        "ended_at": session.ended_at,
        "end_reason": session.end_reason,
        "message_count": session.counters.message_count,
        "tool_call_count": session.counters.tool_call_count,
        "api_call_count": session.counters.api_call_count,
        "input_tokens": session.counters.input_tokens,
        "output_tokens": session.counters.output_tokens,
        "cache_read_tokens": session.counters.cache_read_tokens,
        "cache_write_tokens": session.counters.cache_write_tokens,
        "reasoning_tokens": session.counters.reasoning_tokens,
        "estimated_cost_usd": session.estimated_cost_usd,
        "actual_cost_usd": session.actual_cost_usd,
        "parent_session_id": session.parent,
        "has_system_prompt": session.system_prompt.as_ref().is_some_and(|text| !text.is_empty()),
        "has_model_config": session.model_config.is_some(),
    })
}

/// A session in its envelope.
pub(super) fn enveloped(of: &Session) -> Value {
    json!({"object": "hermes.session", "session": session(of)})
}

/// A message.
pub(super) fn message(stored: &StoredMessage) -> Value {
    let message = &stored.message;
    let content = match &message.content {
        Some(MessageContent::Text(text)) => json!(text),
        Some(MessageContent::Parts(parts)) => parts.clone(),
        None => Value::Null,
    };
    json!({
        "id": stored.id.0,
        "session_id": stored.session_id,
        "role": message.role.as_str(),
        "content": content,
        "tool_call_id": message.tool_call_id,
        "tool_calls": message.tool_calls,
        "tool_name": message.tool_name,
        "timestamp": message.timestamp,
        "token_count": message.token_count,
        "finish_reason": message.finish_reason,
        "reasoning": message.reasoning,
        "reasoning_content": message.reasoning_content,
    })
}
