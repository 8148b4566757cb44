//! Selecting many sessions at once, for pruning, archiving and exporting.

use hermes_store::rusqlite::params_from_iter;
use hermes_store::rusqlite::types::Value;

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

/// Sessions with what conditions are about: `over_at` is when they ended or were last heard of.
const SESSIONS: &str = "SELECT s.* FROM
     (SELECT *,
          COALESCE(ended_at, (SELECT MAX(m.timestamp) FROM messages m WHERE m.session_id = one.id),
              started_at) AS over_at,
          COALESCE(message_count, 0) AS messages, COALESCE(tool_call_count, 0) AS calls,
          COALESCE(input_tokens, 0) + COALESCE(output_tokens, 0) AS tokens,
          COALESCE(actual_cost_usd, estimated_cost_usd, 0) AS cost,
          COALESCE(archived, 0) <> 0 AS is_archived, lower(billing_provider) AS provider
      FROM sessions one) s
 WHERE 1";

impl SessionStore {
    /// The sessions that match a filter, oldest first.
    pub fn matching(&self, filter: &SessionFilter) -> Result<Vec<Session>> {
        self.read(|transaction| transaction.matching(filter))
    }
}

impl SessionTransaction<'_> {
    /// Only the conditions that are asked for are part of the query; values are always bound.
    pub(super) fn matching(&self, filter: &SessionFilter) -> Result<Vec<Session>> {
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let within = |text: &Option<String>| text.as_deref().map(like_within).map(Value::from);
        let int = |number: Option<i64>| number.map(Value::from);
        let real = |number: Option<f64>| number.map(Value::from);
        let must_be_over = filter.ended || filter.ended_before.is_some();
        let silent_since = must_be_over.then(|| Value::from(self.now - SILENT_SECONDS));
        let provider = filter.provider.as_ref();
        let provider = provider.map(|name| Value::from(name.to_ascii_lowercase()));
        let conditions = [
            ("s.ended_at IS NOT NULL OR s.over_at <", silent_since),
            ("s.over_at <", real(filter.ended_before)),
            ("s.started_at <", real(filter.started_before)),
            ("s.started_at >=", real(filter.started_after)),
            ("s.source =", text(&filter.source)),
            ("s.title LIKE", within(&filter.title)),
            ("s.end_reason =", text(&filter.end_reason)),
            ("s.messages >=", int(filter.min_messages)),
            ("s.messages <=", int(filter.max_messages)),
            ("s.model LIKE", within(&filter.model)),
            ("s.provider =", provider),
            ("s.user_id =", text(&filter.user)),
            ("s.chat_id =", text(&filter.chat_id)),
            ("s.chat_type =", text(&filter.chat_type)),
            ("s.git_branch LIKE", within(&filter.branch)),
            ("s.tokens >=", int(filter.min_tokens)),
            ("s.tokens <=", int(filter.max_tokens)),
            ("s.cost >=", real(filter.min_cost)),
            ("s.cost <=", real(filter.max_cost)),
            ("s.calls >=", int(filter.min_tool_calls)),
            ("s.calls <=", int(filter.max_tool_calls)),
            ("s.is_archived =", filter.archived.map(Value::from)),
        ];
        let mut sql = SESSIONS.to_owned();
        let mut values = Vec::new();
        for (condition, value) in conditions {
            if let Some(value) = value {
                let escape = condition
                    .strip_suffix("LIKE")
                    .map_or("", |_| " ESCAPE '\\'");
                sql.push_str(&format!(" AND ({condition} ?{escape})"));
                values.push(value);
            }
        }
        if let Some(cwd) = &filter.cwd {
            let cwd = cwd.trim_end_matches('/');
            sql.push_str(" AND (s.cwd = ? OR s.cwd LIKE ? ESCAPE '\\')");
            let itself = if cwd.is_empty() { "/" } else { cwd };
            values.push(Value::from(itself.to_owned()));
            values.push(Value::from(like_prefix(&format!("{cwd}/"))));
        }
        sql.push_str(" ORDER BY s.started_at, s.id");
        self.rows(&sql, params_from_iter(values), rows::session)
    }
}
