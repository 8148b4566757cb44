//! Reading rows of other programs, whose columns may be missing or hold values of another type.
//!
//! SQLite stores any type in any column. A number stored as text, or the other way round, is
//! converted; anything else counts as absent. No row can make a list fail.

use hermes_store::rusqlite::types::ValueRef;
use hermes_store::rusqlite::{Result, Row};
use serde_json::Value;

use crate::message::{MessageContent, MessageRole, SessionMessage, StoredMessage};
use crate::session::{Counters, Session};
use crate::{MessageId, SessionId};

/// A row, read by the names of its columns.
pub(super) struct SessionRow<'r>(pub(super) &'r Row<'r>);

impl<'r> SessionRow<'r> {
    fn value(&self, column: &str) -> ValueRef<'r> {
        self.0.get_ref(column).unwrap_or(ValueRef::Null)
    }

    pub(super) fn text(&self, column: &str) -> Option<String> {
        text_of(self.value(column))
    }

    pub(super) fn int(&self, column: &str) -> Option<i64> {
        match self.value(column) {
            ValueRef::Integer(number) => Some(number),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a counter beyond 64 bits is nonsense anyway, and the cast saturates"
            )]
            ValueRef::Real(number) => Some(number as i64),
            ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
            ValueRef::Null | ValueRef::Blob(_) => None,
        }
    }

    pub(super) fn real(&self, column: &str) -> Option<f64> {
        match self.value(column) {
            #[expect(
                clippy::cast_precision_loss,
                reason = "times and costs are far below 2^52"
            )]
            ValueRef::Integer(number) => Some(number as f64),
            ValueRef::Real(number) => Some(number).filter(|number| number.is_finite()),
            ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
            ValueRef::Null | ValueRef::Blob(_) => None,
        }
    }

    pub(super) fn flag(&self, column: &str) -> bool {
        self.int(column).is_some_and(|number| number != 0)
    }

    pub(super) fn json(&self, column: &str) -> Option<Value> {
        self.text(column)
            .and_then(|text| serde_json::from_str(&text).ok())
            .filter(|value: &Value| !value.is_null())
    }

    pub(super) fn session_id(&self, column: &str) -> Option<SessionId> {
        self.text(column).map(SessionId::from_row)
    }
}

/// The value as text.
pub(super) fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
    }
}

/// A row of `messages`.
#[expect(clippy::unnecessary_wraps, reason = "the signature that queries take")]
pub(super) fn message(row: &Row<'_>) -> Result<StoredMessage> {
    let columns = SessionRow(row);
    let timestamp = columns.real("timestamp").unwrap_or_default();
    Ok(StoredMessage {
        id: MessageId(columns.int("id").unwrap_or_default()),
        session_id: SessionId::from_row(columns.text("session_id").unwrap_or_default()),
        timestamp,
        active: columns.int("active") != Some(0),
        compacted: columns.flag("compacted"),
        message: SessionMessage {
            role: MessageRole::from_word(columns.text("role").unwrap_or_default()),
            content: columns.text("content").map(MessageContent::decode),
            tool_call_id: columns.text("tool_call_id"),
            tool_calls: columns.json("tool_calls"),
            tool_name: columns.text("tool_name"),
            token_count: columns.int("token_count"),
            finish_reason: columns.text("finish_reason"),
            reasoning: columns.text("reasoning"),
            reasoning_content: columns.text("reasoning_content"),
            reasoning_details: columns.json("reasoning_details"),
            codex_reasoning_items: columns.json("codex_reasoning_items"),
            codex_message_items: columns.json("codex_message_items"),
            platform_message_id: columns.text("platform_message_id"),
            observed: columns.flag("observed"),
            api_content: columns.text("api_content"),
            effect_disposition: columns.text("effect_disposition"),
            timestamp: Some(timestamp),
        },
    })
}

/// A row of `sessions`.
#[expect(clippy::unnecessary_wraps, reason = "the signature that queries take")]
pub(super) fn session(row: &Row<'_>) -> Result<Session> {
    let columns = SessionRow(row);
    let count = |column| columns.int(column).unwrap_or_default();
    Ok(Session {
        id: SessionId::from_row(columns.text("id").unwrap_or_default()),
        source: columns.text("source").unwrap_or_default(),
        user_id: columns.text("user_id"),
        model: columns.text("model"),
        model_config: columns.json("model_config"),
        system_prompt: columns.text("system_prompt"),
        parent: columns.session_id("parent_session_id"),
        started_at: columns.real("started_at").unwrap_or_default(),
        ended_at: columns.real("ended_at"),
        end_reason: columns.text("end_reason"),
        counters: Counters {
            message_count: count("message_count"),
            tool_call_count: count("tool_call_count"),
            api_call_count: count("api_call_count"),
            input_tokens: count("input_tokens"),
            output_tokens: count("output_tokens"),
            cache_read_tokens: count("cache_read_tokens"),
            cache_write_tokens: count("cache_write_tokens"),
            reasoning_tokens: count("reasoning_tokens"),
        },
        billing_provider: columns.text("billing_provider"),
        billing_base_url: columns.text("billing_base_url"),
        billing_mode: columns.text("billing_mode"),
        estimated_cost_usd: columns.real("estimated_cost_usd"),
        actual_cost_usd: columns.real("actual_cost_usd"),
        cost_status: columns.text("cost_status"),
        cost_source: columns.text("cost_source"),
        title: columns.text("title"),
        cwd: columns.text("cwd"),
        git_branch: columns.text("git_branch"),
        git_repo_root: columns.text("git_repo_root"),
        profile_name: columns.text("profile_name"),
        archived: columns.flag("archived"),
        rewind_count: count("rewind_count"),
    })
}
