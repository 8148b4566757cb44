//! What a script's query cost, as JSON. Written whether it succeeded or not; every counter is a
//! number.

use std::path::Path;

use hermes_agent::{TurnOutcome, TurnResult};
use serde_json::{Value, json};

use crate::error::Result;

const MODE: u32 = 0o600;

/// Writes the report of a turn.
pub(super) fn write(path: &Path, result: &TurnResult) -> Result<()> {
    let usage = &result.usage;
    let mut report = json!({
        "estimated_cost_usd": result.cost.usd(),
        "cost_status": result.cost.status(),
        "cost_source": result.cost.source(),
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "reasoning_tokens": usage.reasoning,
        "total_tokens": usage.total(),
        "api_calls": result.api_calls,
        "model": result.route.model,
        "provider": result.route.provider,
        "session_id": result.session_id.as_str(),
        "completed": result.outcome == TurnOutcome::Completed,
        "failed": result.outcome == TurnOutcome::Failed,
        "partial": result.outcome == TurnOutcome::Partial,
        "interrupted": result.outcome == TurnOutcome::Interrupted,
        "turn_exit_reason": result.exit_reason.name(),
        "service_tier": null,
    });
    if let Some(failure) = &result.failure {
        report["failure"] = json!(failure.message);
    }
    save(path, &report)
}

/// Writes the report of a query that did not come to a turn.
pub(super) fn write_failure(path: &Path, message: &str) -> Result<()> {
    save(
        path,
        &json!({
            "estimated_cost_usd": null,
            "cost_status": "unknown",
            "cost_source": null,
            "input_tokens": 0,
            "output_tokens": 0,
            "cache_read_tokens": 0,
            "cache_write_tokens": 0,
            "reasoning_tokens": 0,
            "total_tokens": 0,
            "api_calls": 0,
            "model": null,
            "provider": null,
            "session_id": null,
            "completed": false,
            "failed": true,
            "partial": false,
            "interrupted": false,
            "turn_exit_reason": "not_started",
            "service_tier": null,
            "failure": message,
        }),
    )
}

fn save(path: &Path, report: &Value) -> Result<()> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(hermes_fs::write_atomic(path, text.as_bytes(), MODE)?)
}
