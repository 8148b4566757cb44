//! Reading rows whose columns may be missing or hold what an older or careless program put there.
//!
//! SQLite stores any type in any column. A number that is a text, or a text that is a number, is
//! taken for what it says; what says nothing counts as absent. No row can make a list fail.

use hermes_store::rusqlite::types::ValueRef;
use hermes_store::rusqlite::{Result, Row};
use serde_json::Value;

use crate::message::{Content, Message, Role, StoredMessage};
use crate::session::{Counters, Session};
use crate::{MessageId, SessionId};

/// A row, read by the names of its columns.
pub(super) struct Cells<'r>(pub(super) &'r Row<'r>);

impl<'r> Cells<'r> {
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
        self.text(column).map(SessionId::of_row)
    }
}

/// A text, or what stands for it.
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
#[expect(clippy::unnecessary_wraps, reason = "the shape that queries want")]
pub(super) fn message(row: &Row<'_>) -> Result<StoredMessage> {
    let cells = Cells(row);
    let timestamp = cells.real("timestamp").unwrap_or_default();
    Ok(StoredMessage {
        id: MessageId(cells.int("id").unwrap_or_default()),
        session_id: SessionId::of_row(cells.text("session_id").unwrap_or_default()),
        timestamp,
        active: cells.int("active") != Some(0),
        compacted: cells.flag("compacted"),
        message: Message {
            role: Role::of_word(cells.text("role").unwrap_or_default()),
            content: cells.text("content").map(Content::decode),
            tool_call_id: cells.text("tool_call_id"),
            tool_calls: cells.json("tool_calls"),
            tool_name: cells.text("tool_name"),
            token_count: cells.int("token_count"),
            finish_reason: cells.text("finish_reason"),
            reasoning: cells.text("reasoning"),
            reasoning_content: cells.text("reasoning_content"),
            reasoning_details: cells.json("reasoning_details"),
            codex_reasoning_items: cells.json("codex_reasoning_items"),
            codex_message_items: cells.json("codex_message_items"),
            platform_message_id: cells.text("platform_message_id"),
            observed: cells.flag("observed"),
            api_content: cells.text("api_content"),
            effect_disposition: cells.text("effect_disposition"),
            timestamp: Some(timestamp),
        },
    })
}

/// A row of `sessions`.
#[expect(clippy::unnecessary_wraps, reason = "the shape that queries want")]
pub(super) fn session(row: &Row<'_>) -> Result<Session> {
    let cells = Cells(row);
    let count = |column| cells.int(column).unwrap_or_default();
    Ok(Session {
        id: SessionId::of_row(cells.text("id").unwrap_or_default()),
        source: cells.text("source").unwrap_or_default(),
        user_id: cells.text("user_id"),
        model: cells.text("model"),
        model_config: cells.json("model_config"),
        system_prompt: cells.text("system_prompt"),
        parent: cells.session_id("parent_session_id"),
        started_at: cells.real("started_at").unwrap_or_default(),
        ended_at: cells.real("ended_at"),
        end_reason: cells.text("end_reason"),
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
        billing_provider: cells.text("billing_provider"),
        billing_base_url: cells.text("billing_base_url"),
        billing_mode: cells.text("billing_mode"),
        estimated_cost_usd: cells.real("estimated_cost_usd"),
        actual_cost_usd: cells.real("actual_cost_usd"),
        cost_status: cells.text("cost_status"),
        cost_source: cells.text("cost_source"),
        title: cells.text("title"),
        cwd: cells.text("cwd"),
        git_branch: cells.text("git_branch"),
        git_repo_root: cells.text("git_repo_root"),
        profile_name: cells.text("profile_name"),
        archived: cells.flag("archived"),
        rewind_count: count("rewind_count"),
    })
}
