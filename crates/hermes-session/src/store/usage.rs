//! Cost of requests: totals per session, and one row per model and task.

use hermes_store::rusqlite::params;

use super::{SessionStore, SessionTransaction};
use crate::session::UsageRecord;
use crate::{Result, SessionId};

impl SessionStore {
    /// Adds the cost of one response.
    pub fn record_usage(&mut self, session: &SessionId, usage: &UsageRecord) -> Result<()> {
        self.write_unsynced(|transaction| transaction.add_usage(session, usage))
    }
}

impl SessionTransaction<'_> {
    pub(super) fn add_usage(&self, session: &SessionId, usage: &UsageRecord) -> Result<()> {
        self.must_exist(session)?;
        let usage = sanitized(usage);
        if usage.task.is_empty() {
            self.add_to_session(session, &usage)?;
        }
        self.add_to_model(session, &usage)
    }

    /// The model and provider of the first answered request become those of the session; others
    /// have rows of their own. An unknown price is not zero: without any price the cost stays empty,
    /// and a sum with an unknown part stays marked as unknown.
    fn add_to_session(&self, session: &SessionId, usage: &UsageRecord) -> Result<()> {
        self.execute(
            "UPDATE sessions SET model = ?2, billing_provider = ?3, billing_base_url = ?4,
                 billing_mode = ?5
             WHERE id = ?1 AND COALESCE(api_call_count, 0) = 0
                 AND ?2 IS NOT NULL AND ?3 IS NOT NULL",
            params![
                session.as_str(),
                usage.model,
                usage.provider,
                usage.base_url,
                usage.billing_mode
            ],
        )?;
        self.execute(
            "UPDATE sessions SET
                 api_call_count = COALESCE(api_call_count, 0) + ?2,
                 input_tokens = COALESCE(input_tokens, 0) + ?3,
                 output_tokens = COALESCE(output_tokens, 0) + ?4,
                 cache_read_tokens = COALESCE(cache_read_tokens, 0) + ?5,
                 cache_write_tokens = COALESCE(cache_write_tokens, 0) + ?6,
                 reasoning_tokens = COALESCE(reasoning_tokens, 0) + ?7,
                 estimated_cost_usd = CASE WHEN ?8 IS NULL THEN estimated_cost_usd
                     ELSE COALESCE(estimated_cost_usd, 0) + ?8 END,
                 actual_cost_usd = CASE WHEN ?9 IS NULL THEN actual_cost_usd
                     ELSE COALESCE(actual_cost_usd, 0) + ?9 END,
                 cost_status = CASE WHEN cost_status = 'unknown' THEN cost_status
                     ELSE COALESCE(?10, cost_status) END,
                 cost_source = COALESCE(?11, cost_source),
                 model = COALESCE(model, ?12),
                 billing_provider = COALESCE(billing_provider, ?13),
                 billing_base_url = COALESCE(billing_base_url, ?14),
                 billing_mode = COALESCE(billing_mode, ?15)
             WHERE id = ?1",
            params![
                session.as_str(),
                usage.api_calls,
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens,
                usage.reasoning_tokens,
                usage.estimated_cost_usd,
                usage.actual_cost_usd,
                usage.cost_status,
                usage.cost_source,
                usage.model,
                usage.provider,
                usage.base_url,
                usage.billing_mode,
            ],
        )?;
        Ok(())
    }

    /// Requests of the conversation fall back to the model and provider of the session; those of
    /// other tasks, which may go to another model, do not.
    fn add_to_model(&self, session: &SessionId, usage: &UsageRecord) -> Result<()> {
        self.execute(
            "INSERT INTO session_model_usage (session_id, model, billing_provider,
                 billing_base_url, billing_mode, task, api_call_count, input_tokens, output_tokens,
                 cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_cost_usd,
                 actual_cost_usd, cost_status, cost_source, first_seen, last_seen)
             SELECT id,
                 COALESCE(?2, CASE WHEN ?6 = '' THEN model END, 'unknown'),
                 COALESCE(?3, CASE WHEN ?6 = '' THEN billing_provider END, ''),
                 COALESCE(?4, CASE WHEN ?6 = '' THEN billing_base_url END, ''),
                 COALESCE(?5, CASE WHEN ?6 = '' THEN billing_mode END, ''),
                 ?6, ?7, ?8, ?9, ?10, ?11, ?12, COALESCE(?13, 0), COALESCE(?14, 0), ?15, ?16,
                 ?17, ?17
             FROM sessions WHERE id = ?1
             ON CONFLICT (session_id, model, billing_provider, billing_base_url, billing_mode, task)
             DO UPDATE SET
                 api_call_count = api_call_count + excluded.api_call_count,
                 input_tokens = input_tokens + excluded.input_tokens,
                 output_tokens = output_tokens + excluded.output_tokens,
                 cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
                 cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
                 reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
                 estimated_cost_usd = estimated_cost_usd + excluded.estimated_cost_usd,
                 actual_cost_usd = actual_cost_usd + excluded.actual_cost_usd,
                 cost_status = COALESCE(excluded.cost_status, cost_status),
                 cost_source = COALESCE(excluded.cost_source, cost_source),
                 last_seen = excluded.last_seen",
            params![
                session.as_str(),
                usage.model,
                usage.provider,
                usage.base_url,
                usage.billing_mode,
                usage.task,
                usage.api_calls,
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens,
                usage.reasoning_tokens,
                usage.estimated_cost_usd,
                usage.actual_cost_usd,
                usage.cost_status,
                usage.cost_source,
                self.now,
            ],
        )?;
        Ok(())
    }
}

/// The usage without negative counters and without costs that are no numbers.
fn sanitized(usage: &UsageRecord) -> UsageRecord {
    let cost = |cost: Option<f64>| cost.filter(|cost| cost.is_finite() && *cost >= 0.0);
    UsageRecord {
        api_calls: usage.api_calls.max(0),
        input_tokens: usage.input_tokens.max(0),
        output_tokens: usage.output_tokens.max(0),
        cache_read_tokens: usage.cache_read_tokens.max(0),
        cache_write_tokens: usage.cache_write_tokens.max(0),
        reasoning_tokens: usage.reasoning_tokens.max(0),
        estimated_cost_usd: cost(usage.estimated_cost_usd),
        actual_cost_usd: cost(usage.actual_cost_usd),
        ..usage.clone()
    }
}
