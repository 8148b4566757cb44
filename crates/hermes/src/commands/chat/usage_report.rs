//! What a script's query cost, as JSON. Written whether it succeeded or not; every counter is a
//! number.

use std::path::Path;

use hermes_agent::{TurnOutcome, TurnResult};
use serde_json::json;

use crate::error::Result;

const MODE: u32 = 0o600;

/// Writes the report of a turn, or of a query that did not come to one.
pub(super) fn write(path: &Path, result: std::result::Result<&TurnResult, &str>) -> Result<()> {
    let turn = result.ok();
    let usage = turn.map(|turn| turn.usage).unwrap_or_default();
    let ended = |outcome| turn.is_some_and(|turn| turn.outcome == outcome);
    let mut report = json!({
        "estimated_cost_usd": turn.and_then(|turn| turn.cost.usd()),
        "cost_status": turn.map_or("unknown", |turn| turn.cost.status()),
        "cost_source": turn.and_then(|turn| turn.cost.source()),
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "reasoning_tokens": usage.reasoning,
        "total_tokens": usage.total(),
        "api_calls": turn.map_or(0, |turn| turn.api_calls),
        "model": turn.map(|turn| &turn.route.model),
        "provider": turn.map(|turn| &turn.route.provider),
        "session_id": turn.map(|turn| turn.session_id.as_str()),
        "completed": ended(TurnOutcome::Completed),
        "failed": turn.is_none() || ended(TurnOutcome::Failed),
        "partial": ended(TurnOutcome::Partial),
        "interrupted": ended(TurnOutcome::Interrupted),
        "turn_exit_reason": turn.map_or_else(|| "not_started".into(), |turn| turn.exit_reason.name()),
        "service_tier": turn.and_then(|turn| turn.route.service_tier.as_ref()),
    });
    let failure = match result {
        Ok(turn) => turn
            .failure
            .as_ref()
            .map(|failure| failure.message.as_str()),
        Err(message) => Some(message),
    };
    if let Some(failure) = failure {
        report["failure"] = json!(failure);
    }
    let text = format!("{report:#}\n");
    Ok(hermes_fs::write_atomic(path, text.as_bytes(), MODE)?)
}
