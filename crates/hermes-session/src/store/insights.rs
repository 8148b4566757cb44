//! How much was done in a span of time: sessions, messages, tokens, models, tools.

use hermes_store::rusqlite::{Row, params};

use super::SessionStore;
use crate::Result;

/// What is counted.
#[derive(Debug, Clone, Default)]
pub struct InsightsRequest {
    /// Only sessions that began later, in seconds since 1970.
    pub since: f64,
    pub source: Option<String>,
}

/// A name with how often it was used, and for what.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct UsageOf {
    pub name: String,
    pub sessions: i64,
    pub messages: i64,
    pub tokens: i64,
    pub cost_usd: f64,
}

/// What was done in a span of time.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Insights {
    pub sessions: i64,
    pub messages: i64,
    pub user_messages: i64,
    pub tool_calls: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// Tokens that the provider had kept.
    pub cached_tokens: i64,
    pub cost_usd: f64,
    /// Days with at least one session, in UTC.
    pub active_days: i64,
    pub models: Vec<UsageOf>,
    pub sources: Vec<UsageOf>,
    /// Tools and how often they were called, most used first.
    pub tools: Vec<(String, i64)>,
}

const TOTALS: &str = "SELECT count(*), COALESCE(sum(message_count), 0),
        COALESCE(sum(tool_call_count), 0), COALESCE(sum(input_tokens), 0),
        COALESCE(sum(output_tokens), 0), COALESCE(sum(cache_read_tokens), 0),
        COALESCE(sum(COALESCE(actual_cost_usd, estimated_cost_usd)), 0.0),
        count(DISTINCT date(started_at, 'unixepoch'))
    FROM sessions WHERE started_at >= ?1 AND (?2 IS NULL OR source = ?2)";

/// Sessions by a column of theirs.
macro_rules! by {
    ($column:literal) => {
        concat!(
            "SELECT COALESCE(",
            $column,
            ", '?') AS name, count(*), COALESCE(sum(message_count), 0),
                COALESCE(sum(COALESCE(input_tokens, 0) + COALESCE(output_tokens, 0)), 0),
                COALESCE(sum(COALESCE(actual_cost_usd, estimated_cost_usd)), 0.0)
            FROM sessions WHERE started_at >= ?1 AND (?2 IS NULL OR source = ?2)
            GROUP BY name ORDER BY 2 DESC, 1"
        )
    };
}

const USER_MESSAGES: &str = "SELECT count(*)
    FROM messages m JOIN sessions s ON s.id = m.session_id
    WHERE s.started_at >= ?1 AND (?2 IS NULL OR s.source = ?2) AND m.role = 'user'";

const TOOL_CALLS: &str = "SELECT m.tool_name, count(*)
    FROM messages m JOIN sessions s ON s.id = m.session_id
    WHERE s.started_at >= ?1 AND (?2 IS NULL OR s.source = ?2)
        AND m.role = 'tool' AND m.tool_name <> ''
    GROUP BY 1 ORDER BY 2 DESC, 1";

impl SessionStore {
    /// Counts what was done.
    pub fn insights(&self, request: &InsightsRequest) -> Result<Insights> {
        let usage = |row: &Row<'_>| {
            Ok(UsageOf {
                name: row.get(0)?,
                sessions: row.get(1)?,
                messages: row.get(2)?,
                tokens: row.get(3)?,
                cost_usd: row.get(4)?,
            })
        };
        let wanted = params![request.since, request.source];
        self.read(|transaction| {
            let found = transaction.row(TOTALS, wanted, |row| {
                Ok(Insights {
                    sessions: row.get(0)?,
                    messages: row.get(1)?,
                    tool_calls: row.get(2)?,
                    input_tokens: row.get(3)?,
                    output_tokens: row.get(4)?,
                    cached_tokens: row.get(5)?,
                    cost_usd: row.get(6)?,
                    active_days: row.get(7)?,
                    ..Insights::default()
                })
            })?;
            Ok(Insights {
                user_messages: transaction
                    .row(USER_MESSAGES, wanted, |row| row.get(0))?
                    .unwrap_or_default(),
                models: transaction.rows(by!("model"), wanted, usage)?,
                sources: transaction.rows(by!("source"), wanted, usage)?,
                tools: transaction
                    .rows(TOOL_CALLS, wanted, |row| Ok((row.get(0)?, row.get(1)?)))?,
                ..found.unwrap_or_default()
            })
        })
    }
}
