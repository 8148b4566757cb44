//! Selecting many sessions at once, for pruning, archiving and exporting.

use hermes_store::rusqlite::named_params;

use super::sql_fragments::{like_prefix, like_within};
use super::{SessionStore, SessionTransaction, rows};
use crate::Result;
use crate::session::Session;

/// Conditions on sessions; an empty filter matches all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionFilter {
    /// Only sessions that have ended or been silent for a week.
    pub ended: bool,
    pub ended_before: Option<f64>,
    pub started_before: Option<f64>,
    /// Started at this moment or later.
    pub started_after: Option<f64>,
    pub source: Option<String>,
    /// The title contains this text.
    pub title: Option<String>,
    pub end_reason: Option<String>,
    /// Working in this directory or below.
    pub cwd: Option<String>,
    pub min_messages: Option<i64>,
    pub max_messages: Option<i64>,
    /// The model name contains this text.
    pub model: Option<String>,
    /// Billed by this provider.
    pub provider: Option<String>,
    pub user: Option<String>,
    pub chat_id: Option<String>,
    pub chat_type: Option<String>,
    /// The branch name contains this text.
    pub branch: Option<String>,
    /// Minimum of tokens sent and received.
    pub min_tokens: Option<i64>,
    pub max_tokens: Option<i64>,
    /// Minimum cost, in dollars.
    pub min_cost: Option<f64>,
    pub max_cost: Option<f64>,
    pub min_tool_calls: Option<i64>,
    pub max_tool_calls: Option<i64>,
    /// Only archived sessions, or only others; both if none.
    pub archived: Option<bool>,
}

/// A session without an end that has been silent for this long counts as ended: its process was
/// killed.
const SILENT_SECONDS: f64 = 7.0 * 86_400.0;

const MATCHING: &str = "SELECT s.* FROM
     (SELECT *,
          COALESCE(ended_at, (SELECT MAX(m.timestamp) FROM messages m WHERE m.session_id = one.id),
              started_at) AS over_at
      FROM sessions one) s
 WHERE (NOT :ended OR s.ended_at IS NOT NULL OR s.over_at < :silent_since)
     AND (:ended_before IS NULL
         OR (s.over_at < :ended_before
             AND (s.ended_at IS NOT NULL OR s.over_at < :silent_since)))
     AND (:started_before IS NULL OR s.started_at < :started_before)
     AND (:started_after IS NULL OR s.started_at >= :started_after)
     AND (:source IS NULL OR s.source = :source)
     AND (:title IS NULL OR s.title LIKE :title ESCAPE '\\')
     AND (:end_reason IS NULL OR s.end_reason = :end_reason)
     AND (:cwd IS NULL OR s.cwd = :cwd OR s.cwd LIKE :below ESCAPE '\\')
     AND (:min_messages IS NULL OR COALESCE(s.message_count, 0) >= :min_messages)
     AND (:max_messages IS NULL OR COALESCE(s.message_count, 0) <= :max_messages)
     AND (:model IS NULL OR s.model LIKE :model ESCAPE '\\')
     AND (:provider IS NULL OR s.billing_provider = :provider COLLATE NOCASE)
     AND (:user IS NULL OR s.user_id = :user)
     AND (:chat_id IS NULL OR s.chat_id = :chat_id)
     AND (:chat_type IS NULL OR s.chat_type = :chat_type)
     AND (:branch IS NULL OR s.git_branch LIKE :branch ESCAPE '\\')
     AND (:min_tokens IS NULL
         OR COALESCE(s.input_tokens, 0) + COALESCE(s.output_tokens, 0) >= :min_tokens)
     AND (:max_tokens IS NULL
         OR COALESCE(s.input_tokens, 0) + COALESCE(s.output_tokens, 0) <= :max_tokens)
     AND (:min_cost IS NULL
         OR COALESCE(s.actual_cost_usd, s.estimated_cost_usd, 0) >= :min_cost)
     AND (:max_cost IS NULL
         OR COALESCE(s.actual_cost_usd, s.estimated_cost_usd, 0) <= :max_cost)
     AND (:min_calls IS NULL OR COALESCE(s.tool_call_count, 0) >= :min_calls)
     AND (:max_calls IS NULL OR COALESCE(s.tool_call_count, 0) <= :max_calls)
     AND (:archived IS NULL OR (COALESCE(s.archived, 0) <> 0) = :archived)
 ORDER BY s.started_at, s.id";

impl SessionStore {
    /// The sessions that match a filter, oldest first.
    pub fn matching(&self, filter: &SessionFilter) -> Result<Vec<Session>> {
        self.read(|transaction| transaction.matching(filter))
    }
}

impl SessionTransaction<'_> {
    pub(super) fn matching(&self, filter: &SessionFilter) -> Result<Vec<Session>> {
        let within = |text: &Option<String>| text.as_deref().map(like_within);
        let cwd = filter
            .cwd
            .as_deref()
            .map(|path| match path.trim_end_matches('/') {
                "" => "/",
                path => path,
            });
        let below = cwd.map(|path| like_prefix(&format!("{}/", path.trim_end_matches('/'))));
        self.rows(
            MATCHING,
            named_params! {
                ":ended": filter.ended,
                ":silent_since": self.now - SILENT_SECONDS,
                ":ended_before": filter.ended_before,
                ":started_before": filter.started_before,
                ":started_after": filter.started_after,
                ":source": filter.source,
                ":title": within(&filter.title),
                ":end_reason": filter.end_reason,
                ":cwd": cwd,
                ":below": below,
                ":min_messages": filter.min_messages,
                ":max_messages": filter.max_messages,
                ":model": within(&filter.model),
                ":provider": filter.provider,
                ":user": filter.user,
                ":chat_id": filter.chat_id,
                ":chat_type": filter.chat_type,
                ":branch": within(&filter.branch),
                ":min_tokens": filter.min_tokens,
                ":max_tokens": filter.max_tokens,
                ":min_cost": filter.min_cost,
                ":max_cost": filter.max_cost,
                ":min_calls": filter.min_tool_calls,
                ":max_calls": filter.max_tool_calls,
                ":archived": filter.archived,
            },
            rows::session,
        )
    }
}
