//! `/api/analytics`: tokens and cost, by day and by model.

use hermes_session::{UsageReport, UsageSum};
use serde_json::{Value, json};

use crate::call::{Answered, Call};
use crate::http::ApiError;

const SECONDS_PER_DAY: f64 = 86_400.0;

fn report(call: &Call) -> Result<(UsageReport, i64), ApiError> {
    let days = call.query_number("days", 30, 1..=3_650)?;
    let Some(store) = call.app.sessions.open(&call.context().location.home)? else {
        return Ok((UsageReport::default(), days));
    };
    #[expect(clippy::cast_precision_loss, reason = "at most a few thousand")]
    let since = hermes_session::now() - days as f64 * SECONDS_PER_DAY;
    Ok((store.usage_report(since)?, days))
}

fn row(sum: &UsageSum, name: &str) -> Value {
    json!({
        name: sum.name,
        "input_tokens": sum.input_tokens,
        "output_tokens": sum.output_tokens,
        "cache_read_tokens": sum.cache_read_tokens,
        "reasoning_tokens": sum.reasoning_tokens,
        "estimated_cost": sum.estimated_cost_usd,
        "actual_cost": sum.actual_cost_usd,
        "sessions": sum.sessions,
        "api_calls": sum.api_calls,
    })
}

fn totals(sum: &UsageSum) -> Value {
    json!({
        "total_input": sum.input_tokens,
        "total_output": sum.output_tokens,
        "total_cache_read": sum.cache_read_tokens,
        "total_reasoning": sum.reasoning_tokens,
        "total_estimated_cost": sum.estimated_cost_usd,
        "total_actual_cost": sum.actual_cost_usd,
        "total_sessions": sum.sessions,
        "total_api_calls": sum.api_calls,
    })
}

/// `GET /api/analytics/usage`.
pub(crate) fn usage(call: &Call) -> Answered {
    let (report, days) = report(call)?;
    let daily: Vec<Value> = report.daily.iter().map(|sum| row(sum, "day")).collect();
    let models: Vec<Value> = report.models.iter().map(|sum| row(sum, "model")).collect();
    call.answer(json!({
        "daily": daily,
        "by_model": models,
        "totals": totals(&report.total),
        "period_days": days,
        "skills": {
            "summary": {
                "total_skill_loads": 0,
                "total_skill_edits": 0,
                "total_skill_actions": 0,
                "distinct_skills_used": 0,
            },
            "top_skills": [],
        },
    }))
}

/// `GET /api/analytics/models`.
pub(crate) fn models(call: &Call) -> Answered {
    let (report, days) = report(call)?;
    let models: Vec<Value> = report
        .models
        .iter()
        .map(|sum| {
            let mut shown = row(sum, "model");
            shown["provider"] = json!(sum.provider.as_deref().unwrap_or_default());
            shown["tool_calls"] = json!(sum.tool_calls);
            shown["last_used_at"] = json!(sum.last_used_at);
            let tokens = sum.input_tokens + sum.output_tokens;
            #[expect(clippy::cast_precision_loss, reason = "an average for people")]
            let average = tokens as f64 / sum.sessions.max(1) as f64;
            shown["avg_tokens_per_session"] = json!(average);
            shown["capabilities"] = json!({});
            shown
        })
        .collect();
    let mut names: Vec<&str> = report.models.iter().map(|sum| sum.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut totals = totals(&report.total);
    totals["distinct_models"] = json!(names.len());
    call.answer(json!({"models": models, "totals": totals, "period_days": days}))
}
