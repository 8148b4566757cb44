//! Tokens and cost by day and by model, for charts.

use hermes_store::rusqlite::{Row, params};

use super::SessionStore;
use crate::Result;

/// What some sessions took together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UsageSum {
    /// The day in UTC (`2026-11-05`), or the model; empty for everything together.
    pub name: String,
    /// Who was paid; only by model.
    pub provider: Option<String>,
    pub sessions: i64,
    pub api_calls: i64,
    pub tool_calls: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cache_read_tokens: i64,
    pub reasoning_tokens: i64,
    pub estimated_cost_usd: f64,
    pub actual_cost_usd: f64,
    /// Start of the latest of the sessions, in seconds since 1970.
    pub last_used_at: Option<f64>,
}

/// What was used since a moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UsageReport {
    /// By day, earliest first.
    pub daily: Vec<UsageSum>,
    /// By model and provider, most tokens first.
    pub models: Vec<UsageSum>,
    pub total: UsageSum,
}

/// Sums over sessions, grouped by an expression.
macro_rules! sums {
    ($name:literal, $provider:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $name,
            " AS name, ",
            $provider,
            " AS provider, count(*), COALESCE(sum(api_call_count), 0),
                COALESCE(sum(tool_call_count), 0), COALESCE(sum(input_tokens), 0),
                COALESCE(sum(output_tokens), 0), COALESCE(sum(cache_read_tokens), 0),
                COALESCE(sum(reasoning_tokens), 0), COALESCE(sum(estimated_cost_usd), 0.0),
                COALESCE(sum(actual_cost_usd), 0.0), max(started_at)
            FROM sessions WHERE started_at > ?1 ",
            $rest
        )
    };
}

const DAILY: &str = sums!(
    "date(started_at, 'unixepoch')",
    "NULL",
    "GROUP BY name ORDER BY name"
);
const MODELS: &str = sums!(
    "model",
    "billing_provider",
    "AND model <> '' GROUP BY name, provider
        ORDER BY COALESCE(sum(input_tokens), 0) + COALESCE(sum(output_tokens), 0) DESC, name"
);
const TOTAL: &str = sums!("''", "NULL", "");

impl SessionStore {
    /// Adds up what sessions that began after a moment (seconds since 1970) took.
    pub fn usage_report(&self, since: f64) -> Result<UsageReport> {
        let sum = |row: &Row<'_>| {
            Ok(UsageSum {
                name: row.get::<_, Option<String>>(0)?.unwrap_or_default(),
                provider: row.get(1)?,
                sessions: row.get(2)?,
                api_calls: row.get(3)?,
                tool_calls: row.get(4)?,
                input_tokens: row.get(5)?,
                output_tokens: row.get(6)?,
                cache_read_tokens: row.get(7)?,
                reasoning_tokens: row.get(8)?,
                estimated_cost_usd: row.get(9)?,
                actual_cost_usd: row.get(10)?,
                last_used_at: row.get(11)?,
            })
        };
        self.read(|transaction| {
            Ok(UsageReport {
                daily: transaction.rows(DAILY, params![since], sum)?,
                models: transaction.rows(MODELS, params![since], sum)?,
                total: transaction
                    .row(TOTAL, params![since], sum)?
                    .unwrap_or_default(),
            })
        })
    }
}
